//! Login links and sessions.
//!
//! Guarantee: a login link opens one session, and a person who was removed has none. Mechanism: a login locks the row of the server's log,
//! so it runs alone; each request finds its session and the person together. Failure: a mail that was sent, but not recorded as sent, is
//! sent once more with another link, and the first one then opens nothing.

use std::borrow::Cow;

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::{PersonId, SessionId, SuspensionId};
use domain::people::event::{PersonNamed, ServerEvent, SessionBegan, SessionEnded};
use domain::people::identity::Beginning;
use domain::people::person::Person;
use domain::people::principal::{Assurance, Principal};
use domain::problem::Rejection;
use domain::suspension::RequiredAssurance;
use uuid::Uuid;

use super::loaded::Loaded;
use super::server_log;
use crate::hub::Notice;
use crate::person::{
    Entered, LOGIN_LASTS, LOGIN_MAILS_PER_HOUR, LOGIN_MAILS_WITHIN, LOGINS_MAX, LeasedLogin, LeasedLogins, LoginResult,
    LoginToken, OpenSession, SESSION_IDLE, SESSION_LASTS, SessionToken,
};
use crate::request::Request;
use crate::rows::prelude::*;
use crate::rows::{Decided, LoginRow, RowsResult, SessionRow};
use crate::surroundings::Env;

/// How many login links one transaction leases at most.
const LOGINS_PER_UNIT: u32 = 16;
/// How long a worker may take to send one mail before another may try.
const LEASE_LASTS: TimeDelta = TimeDelta::minutes(2);
/// The pause after the first try that failed; each further one is twice as long.
const PAUSE: TimeDelta = TimeDelta::seconds(5);
/// How often a pause is doubled at most.
const DOUBLED_MAX: u32 = 5;
/// The use of a session is noted when it is this much younger than the last note.
const NOTED_EVERY: TimeDelta = TimeDelta::minutes(1);

/// Queues a login link for the person with this address. A row is written in any case, and nothing says whether it leads to a mail.
pub(crate) fn request<R: Rows>(rows: &mut R, env: &Env<'_>, address: &str, question: Option<SuspensionId>) -> RowsResult<()> {
    let now = env.clock.now();
    let listed = rows.reads().person_called(address)?.map(|person| person.id);
    // An address that is not listed costs the same statements.
    let sent = rows.reads().logins_since(listed.unwrap_or(PersonId(Uuid::nil())), now - LOGIN_MAILS_WITHIN, now)?;
    let may_have_another = sent.usable < LOGINS_MAX && sent.all < LOGIN_MAILS_PER_HOUR;
    let person = listed.filter(|_| may_have_another);
    rows.insert_login(&LoginRow {
        id: env.entropy.uuid(now),
        person,
        asked_at: now,
        expires_at: now + LOGIN_LASTS,
        used_at: None,
        hash: None,
        due_at: Some(now),
        tries: 0,
        lease: None,
        question,
    })?;
    rows.notice(Notice::Delivery);
    Ok(())
}

/// When the next mail with a login link is due.
pub(crate) fn next_due<R: ReadRows>(rows: &mut R) -> RowsResult<Option<DateTime<Utc>>> {
    Ok(rows.queued_logins(1)?.pop().and_then(|row| row.due_at))
}

/// Leases mails with login links that are due, and mints a token for each.
pub(crate) fn lease<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<LeasedLogins> {
    // The log's row is locked first, so that two servers do not lease one mail.
    server_log::begin(rows, env)?;
    let now = env.clock.now();
    let mut leased = LeasedLogins::default();
    for mut row in rows.reads().queued_logins(LOGINS_PER_UNIT)? {
        if row.due_at.is_some_and(|due_at| due_at > now) {
            break;
        }
        let person = match row.person {
            Some(id) => rows.reads().person(id)?,
            None => None,
        };
        let Some(person) = person.filter(|_| row.expires_at > now) else {
            rows.delete_login(row.id)?;
            continue;
        };
        let (token, mut lease) = (LoginToken::new(env.entropy.bytes32()), [0; 16]);
        env.entropy.fill_shown(&mut lease);
        row.hash = Some(token.hash().to_vec());
        (row.lease, row.due_at, row.tries) = (Some(lease.to_vec()), Some(now + LEASE_LASTS), row.tries + 1);
        rows.update_login(&row)?;
        let LoginRow { id, tries, asked_at, expires_at, .. } = row;
        let Person { address, preferences, .. } = person;
        leased.logins.push(LeasedLogin { id, lease, address, preferences, token, tries, asked_at, expires_at });
    }
    leased.next_due = next_due(rows.reads())?;
    Ok(leased)
}

/// Records the result of sending a login link. Without a valid lease, changes nothing.
pub(crate) fn complete<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    (id, lease): (Uuid, [u8; 16]),
    result: LoginResult,
) -> RowsResult<()> {
    // The log's row is locked first: a login may use the link at the same time.
    server_log::begin(rows, env)?;
    let Some(mut row) = rows.reads().login(id)?.filter(|row| row.lease.as_deref() == Some(&lease)) else { return Ok(()) };
    let pause = || PAUSE * 2_i32.pow(row.tries.saturating_sub(1).min(DOUBLED_MAX));
    row.due_at = (result == LoginResult::Retry).then(|| env.clock.now() + pause());
    row.lease = None;
    rows.update_login(&row)
}

/// The row and the person of a login link that can be used.
fn usable<R: ReadRows>(rows: &mut R, token: &LoginToken, now: DateTime<Utc>) -> RowsResult<Option<(LoginRow, Person)>> {
    let row = rows.login_by_hash(&token.hash())?.filter(|row| row.used_at.is_none() && row.expires_at > now);
    let Some((row, id)) = row.and_then(|row| row.person.map(|id| (row, id))) else { return Ok(None) };
    Ok(rows.person(id)?.map(|person| (row, person)))
}

/// The address of the person whose login link this is, if it can be used.
pub(crate) fn address_of<R: ReadRows>(rows: &mut R, token: &LoginToken, now: DateTime<Utc>) -> RowsResult<Option<String>> {
    Ok(usable(rows, token, now)?.map(|(_, person)| person.address))
}

/// Uses a login link: begins a session in place of the one that the browser had. `None` if the link cannot be used.
pub(crate) fn log_in<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    token: &LoginToken,
    before: Option<&SessionToken>,
) -> RowsResult<Option<Entered>> {
    // The log's row is locked first: of two logins with one link, the second waits here, and then finds the link used.
    server_log::begin(rows, env)?;
    let now = env.clock.now();
    let Some((mut link, person)) = usable(rows.reads(), token, now)? else { return Ok(None) };
    (link.used_at, link.due_at, link.lease) = (Some(now), None, None);
    rows.update_login(&link)?;
    confirm(rows, env, &person, now)?;
    let session = begin_session(rows, env, &person, before, Beginning::MAIL)?;
    Ok(Some(Entered { session, question: link.question }))
}

/// Notes that the address is that of a person, who logs in for the first time.
pub(super) fn confirm<R: Rows>(rows: &mut R, env: &Env<'_>, person: &Person, now: DateTime<Utc>) -> RowsResult<()> {
    if person.confirmed_at.is_none() {
        let named = PersonNamed { person_id: person.id, address: person.address.clone(), credential: None };
        server_log::append(rows, env, &person.address, &ServerEvent::PersonConfirmed(named))?;
        rows.confirm_person(person.id, now)?;
    }
    Ok(())
}

/// Begins a session in place of the one that the browser had.
pub(super) fn begin_session<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    person: &Person,
    before: Option<&SessionToken>,
    beginning: Beginning,
) -> RowsResult<SessionToken> {
    let replaced = match before {
        Some(before) => rows.reads().session(&before.hash())?.map(|(session, _)| session.id),
        None => None,
    };
    if let Some(replaced) = replaced {
        rows.delete_session(replaced)?;
    }
    let now = env.clock.now();
    let (session, id) = (SessionToken::new(env.entropy.bytes32()), SessionId(env.entropy.uuid(now)));
    let Beginning { method, auth_time, recent_until } = beginning;
    let (person_id, role, method) = (person.id, person.role, Some(method));
    let began = SessionBegan { session_id: id, person_id, role, replaces: replaced, method, auth_time, recent_until };
    server_log::append(rows, env, &person.address, &ServerEvent::SessionBegan(began))?;
    let hash = session.hash().to_vec();
    rows.insert_session(&SessionRow {
        id,
        person: person.id,
        hash,
        began_at: now,
        used_at: now,
        ends_at: now + SESSION_LASTS,
        challenge: None,
        beginning,
    })?;
    Ok(session)
}

/// Finds a session that has not ended.
pub(crate) fn session<R: ReadRows>(rows: &mut R, hash: &[u8; 32], now: DateTime<Utc>) -> RowsResult<Option<OpenSession>> {
    let found = rows.session(hash)?;
    Ok(found.filter(|(session, _)| is_open(session, now)).map(|(session, person)| OpenSession {
        id: session.id,
        principal: Principal::person(&person.address, person.role, session.id),
        preferences: person.preferences,
        recent_until: session.beginning.recent_until,
        is_stale: now.signed_duration_since(session.used_at) >= NOTED_EVERY,
    }))
}

fn is_open(session: &SessionRow, now: DateTime<Utc>) -> bool {
    now < session.ends_at && now.signed_duration_since(session.used_at) < SESSION_IDLE
}

/// The request with the assurance that a recent login gives, if it is an answer to a question that demands one. The time is that of the
/// transaction: a login that was recent when the page was shown may not be any more.
pub(super) fn assured<'a, R: Rows>(
    rows: &mut R,
    loaded: &Loaded,
    request: &'a Request,
    now: DateTime<Utc>,
) -> RowsResult<Cow<'a, Request>> {
    let demands = loaded.answering.assurance == Some(RequiredAssurance::RecentLogin);
    let session = request.principal.session_id().filter(|_| demands && request.principal.assurance == Assurance::Session);
    let session = session.map(|id| rows.reads().session_called(id)).transpose()?.flatten();
    if session.and_then(|session| session.beginning.recent_until).is_none_or(|until| until < now) {
        return Ok(Cow::Borrowed(request));
    }
    let principal = Principal { assurance: Assurance::RecentLogin, ..request.principal.clone() };
    Ok(Cow::Owned(Request { principal, ..request.clone() }))
}

/// Notes that a session is used. A session that has ended stays ended.
pub(crate) fn touch<R: Rows>(rows: &mut R, env: &Env<'_>, id: SessionId) -> RowsResult<()> {
    let now = env.clock.now();
    if rows.reads().session_called(id)?.is_some_and(|session| is_open(&session, now)) {
        rows.touch_session(id, now)?;
    }
    Ok(())
}

/// Ends the session of the principal, or all sessions of that person.
pub(crate) fn log_out<R: Rows>(rows: &mut R, env: &Env<'_>, principal: &Principal, everywhere: bool) -> Decided<()> {
    let Some(id) = principal.session_id() else { return Ok(Err(Rejection::NotFound)) };
    server_log::begin(rows, env)?;
    let Some(session) = rows.reads().session_called(id)? else { return Ok(Err(Rejection::NotFound)) };
    let ended = SessionEnded { session_id: id, person_id: session.person, everywhere };
    server_log::append(rows, env, &principal.name, &ServerEvent::SessionEnded(ended))?;
    if everywhere {
        rows.delete_sessions_of(session.person)?;
    } else {
        rows.delete_session(id)?;
    }
    Ok(Ok(()))
}
