//! People who may log in. Each change of them is an event of the server's own log.

use domain::people::authority::{Action, Object, authorize};
use domain::people::event::{PersonAdded, PersonNamed, ServerEvent};
use domain::people::person::Person;
use domain::people::principal::Principal;
use domain::problem::Rejection;

use super::{passkeys, server_log};
use crate::error::Wanted;
use crate::person::NewPerson;
use crate::rows::Decided;
use crate::rows::prelude::*;
use crate::surroundings::Env;

pub(crate) fn add<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, person: &Wanted<NewPerson>) -> Decided<Person> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let NewPerson { id, address, role } = match person {
        Ok(person) => person.clone(),
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    // The log's row is locked before the address is looked up: a second person with this address waits here, and is then found.
    server_log::begin(rows, env)?;
    if let Some(listed) = rows.reads().person_called(&address)? {
        return Ok(Err(is_listed(&listed, listed.role == role)));
    }
    let event = PersonAdded { person_id: id, address: address.clone(), role, credential: principal.credential };
    server_log::append(rows, env, &principal.name, &ServerEvent::PersonAdded(event))?;
    let added_by = principal.name.clone();
    let person = Person { id, address, role, added_at: env.clock.now(), added_by, confirmed_at: None };
    rows.insert_person(&person)?;
    Ok(Ok(person))
}

fn is_listed(person: &Person, with_this_role: bool) -> Rejection {
    let Person { address, role, .. } = person;
    let remedy = if with_this_role { "" } else { "; to give another role, remove the person first" };
    Rejection::invalid("address", "unique", format!("{address} is listed already, with the role {role}{remedy}"))
}

/// Removes a person with the person's passkeys, and ends the person's sessions.
pub(crate) fn remove<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, address: &Wanted<String>) -> Decided<Person> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    let address = match address {
        Ok(address) => address,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    server_log::begin(rows, env)?;
    let Some(person) = rows.reads().person_called(address)? else { return Ok(Err(Rejection::NotFound)) };
    let event = PersonNamed { person_id: person.id, address: person.address.clone(), credential: principal.credential };
    server_log::append(rows, env, &principal.name, &ServerEvent::PersonRemoved(event))?;
    passkeys::end_all(rows, env, principal, &person)?;
    rows.remove_person(person.id, env.clock.now())?;
    Ok(Ok(person))
}

/// Lists the people, in the order in which they were added.
pub(crate) fn list<R: ReadRows>(rows: &mut R, principal: &Principal) -> Decided<Vec<Person>> {
    if let Err(rejection) = authorize(principal, Action::ManageKeys, Object::Server) {
        return Ok(Err(rejection));
    }
    Ok(Ok(rows.people()?))
}
