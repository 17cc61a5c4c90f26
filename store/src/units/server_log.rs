//! The server's own log.
//!
//! Guarantee: an event of it follows the one before, on every server of a deployment, and a change of the keys is in it or did not happen.
//! Mechanism: the transaction that changes a key appends the event, and holds the row of the log's end meanwhile. Failure: a database from
//! before this log has keys that no event tells of; the first event of any kind is preceded by one event for each of them.

use domain::base::name::SERVER;
use domain::log::{Entry, Envelope};
use domain::people::event::{KeyFacts, ServerEvent};
use domain::wire::KeyView;

use crate::rows::prelude::*;
use crate::rows::{RowsResult, ServerHead};
use crate::surroundings::Env;

/// Begins the log with the keys that exist already, if it has not begun.
pub(crate) fn begin<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<()> {
    begun(rows, env).map(|_| ())
}

/// Appends an event. The change that the event tells of belongs behind this call: the log may have to begin with the keys as they are.
pub(super) fn append<R: Rows>(rows: &mut R, env: &Env<'_>, actor: &str, event: &ServerEvent) -> RowsResult<()> {
    let mut head = begun(rows, env)?;
    add(rows, env, &mut head, actor, event)
}

/// The end of the log, once it has begun.
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
