//! Parked intents that go on because of an event, and those that get the time of an outage back.

use chrono::{DateTime, Utc};
use domain::intent::command::{Command, Later};
use domain::intent::decide::decide;
use domain::intent::event::ExtensionCause;
use domain::intent::stop_command::StopCommand;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::absence::Absence;
use domain::suspension::stop::Fired;
use serde::{Deserialize, Serialize};

use super::act::act;
use super::loaded::load_of;
use super::log::append;
use crate::error::Wanted;
use crate::request::Idempotency;
use crate::rows::prelude::*;
use crate::rows::{Decided, ReadStops, RowsResult, SuspensionRow};
use crate::surroundings::Env;

/// Lets a parked intent go on because of an event. Returns false if it waits no longer. A message that counts once leaves its mark in the
/// same transaction, so that what it has woken can be counted afterwards, whichever call did the work.
pub(crate) fn wake<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    rid: i64,
    (by, fired): (&Principal, &Fired),
    message: Option<Idempotency>,
) -> Decided<bool> {
    let row = rows.reads().suspension_at(rid)?;
    if row.suspension.ending.is_some() {
        return Ok(Ok(false));
    }
    // One event may write its payload for each of many intents, and the rest of the disk is kept for people. Those that are left wait on.
    if env.allowance.is_short_of_room() {
        return Ok(Err(Rejection::NoRoom));
    }
    let mut loaded = load_of(rows, &row)?;
    let now = env.clock.now();
    let fire = StopCommand::Fire { suspension_id: row.suspension.id, fired: Box::new(fired.clone()) };
    // A time that is over takes effect by its own timer.
    let Ok(events) = decide(&loaded.intent, &Command::Stop(Box::new(fire)), by, now) else { return Ok(Ok(false)) };
    append(rows, env, &mut loaded, &events, &by.name, now)?;
    if let Some(message) = message.filter(|_| !events.is_empty()) {
        rows.note_woken(rid, &message.key_hash)?;
    }
    Ok(Ok(!events.is_empty()))
}

/// A message that counts once, as it is kept under its key.
#[derive(Serialize, Deserialize)]
struct Claimed {
    /// The row of the newest stop that was open when the message came. It wakes none that was parked later, however often it comes.
    newest: i64,
}

/// Takes a message that counts once, before any intent goes on because of it, and returns the row before which the stops are that it may
/// wake. Of several copies one takes it, and each of the others gets the same row: they do the same work, which has its effect once.
pub(crate) fn claim<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    event: &Wanted<Fired>,
    message: Idempotency,
) -> Decided<i64> {
    if let Err(rejection) = authorize(principal, Action::FireEvent, Object::Server) {
        return Ok(Err(rejection));
    }
    let now = env.clock.now();
    if let Some((body_hash, kept)) = rows.reads().idempotent(&message.key_hash, now)? {
        // The same id with another body is another message, which its sender should not have given this id.
        if body_hash != message.body_hash {
            return Ok(Err(Rejection::IdempotencyMismatch));
        }
        // An older version kept no row, and only when the work was done.
        let Claimed { newest } = serde_json::from_str::<Option<Claimed>>(&kept)?.unwrap_or(Claimed { newest: 0 });
        return Ok(Ok(newest + 1));
    }
    if let Err(rejection) = event {
        return Ok(Err(rejection.clone()));
    }
    let newest = rows.reads().newest_stops(1)?.first().copied().unwrap_or_default();
    rows.insert_idempotent(message, now, &serde_json::to_string(&Claimed { newest })?)?;
    Ok(Ok(newest + 1))
}

/// Gives the time of an outage back to a parked intent that goes on in silence.
pub(super) fn give_back<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: &SuspensionRow,
    absence: Option<Absence>,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    let Some(absence) = absence.filter(|_| row.suspension.expires_at.is_some()) else { return Ok(()) };
    let mut loaded = load_of(rows, row)?;
    let Some(at) = loaded.intent.stop.as_deref().and_then(|stop| absence.extended_stop(stop, now)) else { return Ok(()) };
    let (suspension_id, cause) = (row.suspension.id, ExtensionCause::Outage);
    let command = Command::Extend { suspension_id, later: Later::Until(at), reason: None, cause };
    act(rows, env, &mut loaded, &command, now)
}
