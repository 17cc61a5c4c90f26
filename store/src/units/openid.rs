//! Logins at an issuer of identities (OpenID Connect).
//!
//! Guarantee: a login that a browser began is used once, by that browser; an account is one person's for ever, and a person has one
//! account. Mechanism: the row of the login is deleted when it is used, in one statement; the transaction that binds an account locks the
//! row of the server's log, so it runs alone. Failure: what does not fit is refused, and nothing has changed.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::people::event::{IdentityBound, ServerEvent};
use domain::people::group::{GROUP_MEMBERS_MAX, Group};
use domain::people::identity::Beginning;
use domain::people::person::Person;
use domain::people::principal::Principal;

use super::{groups, logins, server_log};
use crate::identity::{Entry, OPENID_LOGIN_LASTS, Proved, Stray, TakenLogin};
use crate::person::{OpenIdState, SessionToken};
use crate::rows::prelude::*;
use crate::rows::{OpenIdLoginRow, RowsError, RowsResult, ordered};
use crate::surroundings::Env;

/// Notes that a browser begins a login.
pub(crate) fn begin<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    state: &OpenIdState,
    browser: [u8; 32],
    question: Option<SuspensionId>,
) -> RowsResult<()> {
    let expires_at = env.clock.now() + OPENID_LOGIN_LASTS;
    rows.insert_openid_login(&OpenIdLoginRow { hash: state.hash(), browser, expires_at, question })
}

/// Uses up a login that this browser has begun.
pub(crate) fn take<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    state: &OpenIdState,
    browser: &[u8; 32],
) -> RowsResult<Option<TakenLogin>> {
    rows.take_openid_login(&state.hash(), browser, env.clock.now())
}

/// Begins a session for the person that the issuer has proved.
pub(crate) fn log_in<R: Rows>(rows: &mut R, env: &Env<'_>, proved: &Proved, before: Option<&SessionToken>) -> RowsResult<Entry> {
    // The log's row is locked first: of two first logins by one account, the second waits here, and then finds the person.
    server_log::begin(rows, env)?;
    let now = env.clock.now();
    let person = match known(rows.reads(), proved)? {
        Some(person) => person,
        None => match bind(rows, env, proved, now)? {
            Ok(person) => person,
            Err(refused) => return Ok(refused),
        },
    };
    let mut strays = Vec::new();
    for (group, is_member) in &proved.groups {
        strays.extend(follow(rows, env, &person, group, *is_member)?);
    }
    let beginning = Beginning::openid(proved.auth_time, proved.recent, now);
    let session = logins::begin_session(rows, env, &person, before, beginning)?;
    Ok(Entry::Begun { session, strays })
}

/// The person whose account this is. The address plays no part: it may have changed since the account was bound.
fn known<R: ReadRows>(rows: &mut R, proved: &Proved) -> RowsResult<Option<Person>> {
    match rows.person_identified(&proved.identity)? {
        Some(id) => rows.person(id),
        None => Ok(None),
    }
}

/// Makes an account that of the listed person with its address.
fn bind<R: Rows>(rows: &mut R, env: &Env<'_>, proved: &Proved, now: DateTime<Utc>) -> RowsResult<Result<Person, Entry>> {
    let Some(address) = &proved.address else { return Ok(Err(Entry::NoAddress)) };
    let Some(person) = rows.reads().person_called(address)? else { return Ok(Err(Entry::NotListed)) };
    if rows.reads().has_identity(person.id)? {
        return Ok(Err(Entry::OtherAccount));
    }
    // The issuer has verified the address, as a link in a mail does.
    logins::confirm(rows, env, &person, now)?;
    let (person_id, address) = (person.id, person.address.clone());
    let (issuer, subject) = (proved.identity.issuer.clone(), proved.identity.subject.clone());
    let bound = IdentityBound { person_id, address, issuer, subject };
    server_log::append(rows, env, &person.address, &ServerEvent::IdentityBound(bound))?;
    rows.insert_identity(&proved.identity, person.id, now)?;
    Ok(Ok(person))
}

/// Makes a person a member of a group, or takes the person out of it. If it is so already, nothing happens, and no event is written.
fn follow<R: Rows>(rows: &mut R, env: &Env<'_>, person: &Person, name: &str, is_member: bool) -> RowsResult<Option<Stray>> {
    let Some(Group { mut members, managed, .. }) = rows.reads().group(name)? else {
        return Ok(Some(Stray::Missing(name.to_owned())));
    };
    if managed {
        // A server refuses a file that says both, so it was the file of another server that named the members.
        return Ok(Some(Stray::Managed(name.to_owned())));
    }
    if members.contains(&person.address) == is_member {
        return Ok(None);
    }
    if !is_member {
        members.retain(|member| *member != person.address);
    } else if members.len() < GROUP_MEMBERS_MAX {
        members.push(person.address.clone());
    } else {
        return Ok(Some(Stray::Full(name.to_owned())));
    }
    let group = Group { name: name.to_owned(), members: ordered(members), managed };
    let ids = groups::listed(rows.reads(), &group)?;
    let ids = ids.map_err(|_| RowsError::Inconsistent("a member of a group is not listed"))?;
    groups::save(rows, env, &Principal::server(), &group, &ids)?;
    Ok(None)
}
