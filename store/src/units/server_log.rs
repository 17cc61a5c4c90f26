//! The server's own log.
//!
//! Guarantee: the events form one chain, whichever server of a deployment writes them, and a change of the keys is in the log or
//! did not happen. Mechanism: the transaction that changes a key appends the event, and locks the row of the log's end meanwhile.
//! Failure: a database that is older than this log has keys that no event tells of; so the log begins with one event for each of
//! these keys.

use domain::base::name::SERVER;
use domain::log::{Entry, Envelope};
use domain::people::event::{GROUP_CHANGED, GROUP_REMOVED, KeyFacts, PERSON_ADDED, PERSON_CHANGED, PERSON_REMOVED, ServerEvent};
use domain::wire::KeyView;

use crate::hub::Notice;
use crate::rows::prelude::*;
use crate::rows::{RowsResult, ServerHead};
use crate::surroundings::Env;

/// How many events one look for changes by other programs reads at most.
const EVENTS_PER_LOOK: u32 = 100;
/// The types of the events for which [`changes_who_may_answer`] can be true.
const CHANGES: [&str; 7] =
    ["key.created", "key.imported", PERSON_ADDED, PERSON_CHANGED, PERSON_REMOVED, GROUP_CHANGED, GROUP_REMOVED];

/// Begins the log with the keys that exist already, if it has not begun.
pub(crate) fn begin<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<()> {
    begun(rows, env).map(|_| ())
}

/// Appends an event. Make the change that the event records after this call, because the log may have to begin with the keys as
/// they were.
pub(super) fn append<R: Rows>(rows: &mut R, env: &Env<'_>, actor: &str, event: &ServerEvent) -> RowsResult<()> {
    let mut head = begun(rows, env)?;
    if changes_who_may_answer(event) {
        debug_assert!(CHANGES.contains(&event.event_type()));
        rows.notice(Notice::Directory);
    }
    add(rows, env, &mut head, actor, event)
}

/// Whether too few people may be left to answer a question after the change that this event records, or an admin may be there who was not
/// told of it. A key takes the right to answer from its subject where the questions of its owner are kept from the owner.
fn changes_who_may_answer(event: &ServerEvent) -> bool {
    match event {
        ServerEvent::KeyCreated { key, .. } | ServerEvent::KeyImported { key, .. } => key.subject.contains('@'),
        ServerEvent::PersonAdded(_)
        | ServerEvent::PersonChanged(_)
        | ServerEvent::PersonRemoved(_)
        | ServerEvent::GroupChanged(_)
        | ServerEvent::GroupRemoved(_) => true,
        ServerEvent::KeyRecorded { .. }
        | ServerEvent::KeyRevoked { .. }
        | ServerEvent::LogKeyAdded(_)
        | ServerEvent::LogExported(_)
        | ServerEvent::PayloadRedacted(_)
        | ServerEvent::HoldPlaced(_)
        | ServerEvent::HoldLifted(_)
        // A person who is out of office may answer all the same, and so may the deputy once the question has moved.
        | ServerEvent::PersonAway(_)
        | ServerEvent::PersonBack(_)
        | ServerEvent::PersonConfirmed(_)
        | ServerEvent::IdentityBound(_)
        | ServerEvent::SessionBegan(_)
        | ServerEvent::SessionEnded(_)
        | ServerEvent::PasskeyAdded(_)
        | ServerEvent::PasskeyRemoved(_) => false,
    }
}

/// The number of the newest event, and whether one of the events behind number `after` may change who may answer. More events than one look
/// reads count as such a change.
pub(crate) fn changes_behind<R: ReadRows>(rows: &mut R, after: i64) -> RowsResult<(i64, bool)> {
    let events = rows.newest_server_events(after, EVENTS_PER_LOOK)?;
    let newest = events.first().map_or(after, |(number, _)| *number);
    let may_change = events.iter().any(|(_, event_type)| CHANGES.contains(&event_type.as_str()));
    Ok((newest, may_change || events.len() == EVENTS_PER_LOOK as usize))
}

/// Begins the log if it has not begun, and returns its end.
fn begun<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<ServerHead> {
    let mut head = rows.lock_server_log()?;
    if head.sequence == 0 {
        for KeyView { id, name, role, subject, owner, tied_to, client, created_at, revoked_at } in rows.reads().keys()? {
            let key = KeyFacts { id, name, subject, owner, role, tied_to, client };
            add(rows, env, &mut head, SERVER, &ServerEvent::KeyRecorded { key, created_at, revoked_at })?;
        }
    }
    Ok(head)
}

fn add<R: Rows>(rows: &mut R, env: &Env<'_>, head: &mut ServerHead, actor: &str, event: &ServerEvent) -> RowsResult<()> {
    let now = env.clock.now();
    // An event is not dated before the one it follows, whatever the clock shows.
    let created_at = head.at.map_or(now, |last| now.max(last));
    let (id, salt, sequence) = (env.entropy.uuid(created_at), env.entropy.salt(), head.sequence + 1);
    let sealed = Envelope { id, sequence, actor, created_at, previous: head.hash, salt }.seal(Entry::Server(event))?;
    rows.insert_server_event(sequence, event.event_type(), created_at, &sealed)?;
    *head = ServerHead { sequence, hash: Some(sealed.hash), at: Some(created_at) };
    Ok(())
}
