//! The people and groups that the configuration file names.
//!
//! Guarantee: after a start, all of them are as the file says, or the server did not start and nothing has changed; each change is an event
//! of the server's own log, under a name that no key can have; and a start that finds everything as the file says writes nothing. Mechanism:
//! one transaction compares and changes, behind the lock on the end of that log. Failure: of two servers whose files differ, each start
//! undoes what the other server's file says.

use std::collections::HashMap;

use domain::base::ids::PersonId;
use domain::people::person::Person;
use domain::people::principal::Principal;
use domain::people::roster::{Change, Roster};
use domain::problem::Rejection;

use super::{groups, people, server_log};
use crate::host::kill_points::{self, Point};
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsError, RowsResult};
use crate::surroundings::Env;

/// Makes people and groups be as the file says. Returns the changes.
pub(crate) fn apply<R: Rows>(rows: &mut R, env: &Env<'_>, roster: &Roster) -> Decided<Vec<Change>> {
    // The log's row is locked before the lists are read, so what is compared stays as it is.
    server_log::begin(rows, env)?;
    let (listed, named) = (rows.reads().people()?, rows.reads().groups()?);
    let changes = match roster.changes(&listed, &named) {
        Ok(changes) => changes,
        Err(errors) => return Ok(Err(Rejection::Invalid { errors })),
    };
    let mut ids: HashMap<String, PersonId> = listed.into_iter().map(|person| (person.address, person.id)).collect();
    for change in &changes {
        make(rows, env, change, &mut ids)?;
        kill_points::reached(Point::WithinRoster);
    }
    Ok(Ok(changes))
}

/// Makes one change. `ids` are those of the people who are listed, by their addresses.
fn make<R: Rows>(rows: &mut R, env: &Env<'_>, change: &Change, ids: &mut HashMap<String, PersonId>) -> RowsResult<()> {
    let actor = Principal::configuration();
    match change {
        Change::RemoveGroup(group) => groups::end(rows, env, &actor, &group.name),
        Change::RemovePerson(person) => people::end(rows, env, &actor, person),
        Change::ChangePerson(person) => people::update(rows, env, &actor, person),
        Change::AddPerson { address, role, preferences } => {
            let (added_at, added_by) = (env.clock.now(), actor.name.clone());
            let id = PersonId(env.entropy.uuid(added_at));
            ids.insert(address.clone(), id);
            let (address, role, preferences) = (address.clone(), *role, preferences.clone());
            let person =
                Person { id, address, role, added_at, added_by, confirmed_at: None, managed: true, absence: None, preferences };
            people::enter(rows, env, &actor, &person)
        }
        Change::SetGroup(group) => {
            let members = group.members.iter().map(|address| ids.get(address).copied()).collect::<Option<Vec<_>>>();
            let members = members.ok_or(RowsError::Inconsistent("a member of a group is not listed"))?;
            groups::save(rows, env, &actor, group, &members)
        }
    }
}
