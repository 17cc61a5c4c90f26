//! People who are listed. Each change of them is an event of the server's own log.

use std::collections::HashMap;

use chrono::{DateTime, Utc};
use domain::people::authority::{Action, Object, authorize};
use domain::people::event::{PersonAdded, PersonChanged, PersonNamed, ServerEvent};
use domain::people::person::{PEOPLE_MAX, Person, PersonChange};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::{OutOfOffice, PersonView};

use super::{passkeys, server_log};
use crate::error::Wanted;
use crate::person::{Named, NewPerson};
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult};
use crate::surroundings::Env;

pub(crate) fn add<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    person: &Wanted<NewPerson>,
) -> Decided<PersonView> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let NewPerson { id, address, role, preferences } = match person {
        Ok(person) => person.clone(),
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    // The log's row is locked before the address is looked up: a second person with this address waits here, and is then found.
    server_log::begin(rows, env)?;
    if let Some(listed) = rows.reads().person_called(&address)? {
        return Ok(Err(is_listed(&listed, listed.role == role)));
    }
    if rows.reads().people_count()? >= PEOPLE_MAX {
        let message = format!("{PEOPLE_MAX} people are listed, and no more are kept; remove one first");
        return Ok(Err(Rejection::invalid("address", "count", message)));
    }
    let (added_at, added_by) = (env.clock.now(), principal.name.clone());
    let person = Person { id, address, role, added_at, added_by, confirmed_at: None, managed: false, absence: None, preferences };
    enter(rows, env, principal, &person)?;
    Ok(Ok(PersonView::of(person, Vec::new(), None)))
}

/// Lists a person, whose address is not listed.
pub(super) fn enter<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, person: &Person) -> RowsResult<()> {
    let (person_id, address) = (person.id, person.address.clone());
    let (time_zone, locale) = person.preferences.names();
    let event = PersonAdded { person_id, address, role: person.role, time_zone, locale, credential: principal.credential };
    server_log::append(rows, env, &principal.name, &ServerEvent::PersonAdded(event))?;
    rows.insert_person(person)
}

fn is_listed(person: &Person, with_this_role: bool) -> Rejection {
    let Person { address, role, .. } = person;
    let remedy = if with_this_role { "" } else { "; to give another role, change the role of that person" };
    Rejection::invalid("address", "unique", format!("{address} is listed already, with the role {role}{remedy}"))
}

/// Finds the person that a caller names.
pub(super) fn find<R: ReadRows>(rows: &mut R, named: &Named) -> RowsResult<Option<Person>> {
    match named {
        Named::Id(id) => rows.person(*id),
        Named::Address(address) => rows.person_called(address),
    }
}

/// Changes a person. If the person is so already, nothing happens, and no event is written.
pub(crate) fn change<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    named: &Wanted<Named>,
    change: &Wanted<PersonChange>,
) -> Decided<PersonView> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let named = match named {
        Ok(named) => named,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    server_log::begin(rows, env)?;
    let Some(before) = find(rows.reads(), named)? else { return Ok(Err(Rejection::NotFound)) };
    let change = match change {
        Ok(change) => change.clone(),
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    if before.managed {
        return Ok(Err(Rejection::managed_person(&before.address)));
    }
    let person = change.of(before.clone());
    if person != before {
        update(rows, env, principal, &person)?;
    }
    let groups = rows.reads().groups_of(person.id)?;
    let away = absent(rows, env, &person)?;
    Ok(Ok(PersonView::of(person, groups, away)))
}

/// The time for which a person is out of office.
fn absent<R: Rows>(rows: &mut R, env: &Env<'_>, person: &Person) -> RowsResult<Option<OutOfOffice>> {
    let people = if person.absence.is_some() { rows.reads().people()? } else { Vec::new() };
    Ok(OutOfOffice::of(person, &people, env.clock.now()))
}

/// Changes a person, who is given as the person is from now on.
pub(super) fn update<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, person: &Person) -> RowsResult<()> {
    let (person_id, address) = (person.id, person.address.clone());
    let (time_zone, locale) = person.preferences.names();
    let event = PersonChanged { person_id, address, role: person.role, time_zone, locale, credential: principal.credential };
    server_log::append(rows, env, &principal.name, &ServerEvent::PersonChanged(event))?;
    rows.update_person(person)
}

/// Removes a person, with the person's passkeys and places in groups, and ends the person's sessions. Returns the person as it was.
pub(crate) fn remove<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, named: &Wanted<Named>) -> Decided<PersonView> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let named = match named {
        Ok(named) => named,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    server_log::begin(rows, env)?;
    let Some(person) = find(rows.reads(), named)? else { return Ok(Err(Rejection::NotFound)) };
    if person.managed {
        return Ok(Err(Rejection::managed_person(&person.address)));
    }
    // Without this member, the group would not be as the file says, and the next start would find a member who is not listed.
    if let Some(group) = rows.reads().managed_group_of(person.id)? {
        return Ok(Err(Rejection::managed_group(&group)));
    }
    let groups = rows.reads().groups_of(person.id)?;
    let away = absent(rows, env, &person)?;
    end(rows, env, principal, &person)?;
    Ok(Ok(PersonView::of(person, groups, away)))
}

/// Removes a person who is listed.
pub(super) fn end<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, person: &Person) -> RowsResult<()> {
    let event = PersonNamed { person_id: person.id, address: person.address.clone(), credential: principal.credential };
    server_log::append(rows, env, &principal.name, &ServerEvent::PersonRemoved(event))?;
    // The person's row is changed before the passkeys: an answer locks them in this order, and otherwise each could wait for the other.
    rows.leave_groups(person.id)?;
    rows.remove_person(person.id, env.clock.now())?;
    passkeys::end_all(rows, env, principal, person)?;
    Ok(())
}

/// Lists the people, in the order in which they were added.
pub(crate) fn list<R: ReadRows>(rows: &mut R, principal: &Principal, now: DateTime<Utc>) -> Decided<Vec<PersonView>> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    // The groups come in the order of their names, so the names of each person do, too.
    let mut names: HashMap<String, Vec<String>> = HashMap::new();
    for group in rows.groups()? {
        for address in group.members {
            names.entry(address).or_default().push(group.name.clone());
        }
    }
    let people = rows.people()?;
    let away: Vec<_> = people.iter().map(|person| OutOfOffice::of(person, &people, now)).collect();
    let people = people.into_iter().zip(away);
    Ok(Ok(people
        .map(|(person, away)| {
            let groups = names.remove(&person.address).unwrap_or_default();
            PersonView::of(person, groups, away)
        })
        .collect()))
}
