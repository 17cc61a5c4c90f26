//! Groups of listed people. Each change of them is an event of the server's own log.

use std::collections::HashMap;

use domain::base::field::FieldError;
use domain::base::ids::PersonId;
use domain::people::authority::{Action, Object, authorize};
use domain::people::event::{GroupChanged, GroupRemoved, ServerEvent};
use domain::people::group::{GROUPS_MAX, Group};
use domain::people::principal::Principal;
use domain::problem::Rejection;

use super::server_log;
use crate::error::Wanted;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult, ordered};
use crate::surroundings::Env;

/// Makes a group, or gives it other members. If it has exactly these already, nothing happens, and no event is written.
pub(crate) fn set<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, group: &Wanted<Group>) -> Decided<Group> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let group = match group {
        Ok(group) => group,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    // The log's row is locked before people and groups are looked at, so one change after the other sees the one before.
    server_log::begin(rows, env)?;
    let before = rows.reads().group(&group.name)?;
    if before.as_ref().is_some_and(|group| group.managed) {
        return Ok(Err(Rejection::managed_group(&group.name)));
    }
    let members = match listed(rows.reads(), group)? {
        Ok(members) => members,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let group = Group { name: group.name.clone(), members: ordered(group.members.clone()), managed: false };
    if before.as_ref() == Some(&group) {
        return Ok(Ok(group));
    }
    if before.is_none() && rows.reads().group_count()? >= GROUPS_MAX {
        let message = format!("there are {GROUPS_MAX} groups, and no more are kept; remove one first");
        return Ok(Err(Rejection::invalid("group", "count", message)));
    }
    save(rows, env, principal, &group, &members)?;
    Ok(Ok(group))
}

/// Makes a group, or gives it other members. Its addresses are in the order of their characters, and `members` are the people's ids.
pub(super) fn save<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    group: &Group,
    members: &[PersonId],
) -> RowsResult<()> {
    let Group { name, members: addresses, .. } = group.clone();
    let event = GroupChanged { group: name, members: addresses, credential: principal.credential };
    server_log::append(rows, env, &principal.name, &ServerEvent::GroupChanged(event))?;
    rows.save_group(group, members)
}

/// Finds the people that a group names.
pub(super) fn listed<R: ReadRows>(rows: &mut R, group: &Group) -> Decided<Vec<PersonId>> {
    let people: HashMap<String, PersonId> = rows.people()?.into_iter().map(|person| (person.address, person.id)).collect();
    let (mut members, mut errors) = (Vec::with_capacity(group.members.len()), Vec::new());
    for (index, address) in group.members.iter().enumerate() {
        match people.get(address) {
            Some(id) => members.push(*id),
            None => {
                errors.push(FieldError::new(format!("members[{index}]"), "unknown", format!("{address} is no listed person")));
            }
        }
    }
    Ok(if errors.is_empty() { Ok(members) } else { Err(Rejection::Invalid { errors }) })
}

/// Removes a group. Its members stay listed.
pub(crate) fn remove<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, name: &Wanted<String>) -> Decided<Group> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let name = match name {
        Ok(name) => name,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    server_log::begin(rows, env)?;
    let Some(group) = rows.reads().group(name)? else { return Ok(Err(Rejection::NotFound)) };
    if group.managed {
        return Ok(Err(Rejection::managed_group(name)));
    }
    end(rows, env, principal, name)?;
    Ok(Ok(group))
}

/// Removes a group that there is.
pub(super) fn end<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, name: &str) -> RowsResult<()> {
    let event = GroupRemoved { group: name.to_owned(), credential: principal.credential };
    server_log::append(rows, env, &principal.name, &ServerEvent::GroupRemoved(event))?;
    rows.delete_group(name)
}

/// Lists the groups.
pub(crate) fn list<R: ReadRows>(rows: &mut R, principal: &Principal) -> Decided<Vec<Group>> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    rows.groups().map(Ok)
}
