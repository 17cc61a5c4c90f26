//! Parked intents that go on because of an event, and those that get the time of an outage back.

use chrono::{DateTime, Utc};
use domain::intent::command::{Command, Later};
use domain::intent::decide::decide;
use domain::intent::event::ExtensionCause;
use domain::intent::stop_command::StopCommand;
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::absence::Absence;
use domain::suspension::stop::Fired;

use super::act::act;
use super::loaded::load_of;
use super::log::append;
use crate::request::Idempotency;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult, SuspensionRow};
use crate::surroundings::Env;

/// Lets a parked intent go on because of an event. Returns false if it waits no longer.
pub(crate) fn wake<R: Rows>(rows: &mut R, env: &Env<'_>, rid: i64, by: &Principal, fired: &Fired) -> RowsResult<bool> {
    let row = rows.reads().suspension_at(rid)?;
    if row.suspension.ending.is_some() {
        return Ok(false);
    }
    let mut loaded = load_of(rows, &row)?;
    let now = env.clock.now();
    let fire = StopCommand::Fire { suspension_id: row.suspension.id, fired: Box::new(fired.clone()) };
    // A time that is over takes effect by its own timer.
    let Ok(events) = decide(&loaded.intent, &Command::Stop(Box::new(fire)), by, now) else { return Ok(false) };
    append(rows, env, &mut loaded, &events, &by.name, now)?;
    Ok(!events.is_empty())
}

/// Whether the work of this message was done before.
pub(crate) fn fired_before<R: ReadRows>(rows: &mut R, message: Idempotency, now: DateTime<Utc>) -> Decided<bool> {
    let Some((body_hash, _)) = rows.idempotent(&message.key_hash, now)? else { return Ok(Ok(false)) };
    // The same id with another body is another message, which its sender should not have given this id.
    Ok(if body_hash == message.body_hash { Ok(true) } else { Err(Rejection::IdempotencyMismatch) })
}

/// Notes that the work of this message is done.
pub(crate) fn note_fired<R: Rows>(rows: &mut R, env: &Env<'_>, message: Idempotency) -> RowsResult<()> {
    let now = env.clock.now();
    if rows.reads().idempotent(&message.key_hash, now)?.is_none() {
        rows.insert_idempotent(message, now, "null")?;
    }
    Ok(())
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
