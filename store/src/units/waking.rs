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
use sha2::{Digest, Sha256};

use super::act::act;
use super::loaded::{Loaded, load_of};
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
    mark: Option<[u8; 32]>,
) -> Decided<bool> {
    let (row, mut loaded) = match read(rows, rid) {
        Ok(Some(read)) => read,
        Ok(None) => return Ok(Ok(false)),
        // The others are woken all the same.
        Err(error) if error.is_unreadable() => {
            tracing::error!(suspension.rid = rid, error = %error, "a stop cannot be read, so no event wakes its intent");
            return Ok(Ok(false));
        }
        Err(error) => return Err(error),
    };
    // One event may write its payload for each of many intents, and the rest of the disk is kept for people. Those that are left wait on.
    if env.allowance.is_short_of_room() {
        return Ok(Err(Rejection::NoRoom));
    }
    let now = env.clock.now();
    let fire = StopCommand::Fire { suspension_id: row.suspension.id, fired: Box::new(fired.clone()) };
    // A time that is over takes effect by its own timer.
    let Ok(events) = decide(&loaded.intent, &Command::Stop(Box::new(fire)), by, now) else { return Ok(Ok(false)) };
    append(rows, env, &mut loaded, &events, &by.name, now)?;
    if let Some(mark) = mark.filter(|_| !events.is_empty()) {
        rows.note_woken(rid, &mark)?;
    }
    Ok(Ok(!events.is_empty()))
}

/// Reads a stop with its intent; `None` if it is over.
fn read<R: Rows>(rows: &mut R, rid: i64) -> RowsResult<Option<(SuspensionRow, Loaded)>> {
    let row = rows.reads().suspension_at(rid)?;
    if row.suspension.ending.is_some() {
        return Ok(None);
    }
    let loaded = load_of(rows, &row)?;
    Ok(Some((row, loaded)))
}

/// A message that counts once, as it is kept under its key.
#[derive(Serialize, Deserialize)]
struct Claimed {
    /// The row of the newest stop that was open when the message came. It wakes none that was parked later, however often it comes.
    newest: i64,
    /// When it came, in microseconds: the key lapses after a day, and the next message under it is another one.
    came_at: i64,
}

/// The stops that a message that counts once may wake, and its mark.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    /// The row before which the stops are.
    pub(crate) before: i64,
    /// The mark of the stops that it has woken.
    pub(crate) mark: [u8; 32],
}

impl Claimed {
    fn claim(&self, message: Idempotency) -> Claim {
        let mark = Sha256::new().chain_update(message.key_hash).chain_update(self.came_at.to_be_bytes()).finalize().into();
        Claim { before: self.newest + 1, mark }
    }
}

/// Takes a message that counts once, before any intent goes on because of it. Of several copies one takes it, and each of the others gets
/// the same claim: they do the same work, which has its effect once.
pub(crate) fn claim<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    event: &Wanted<Fired>,
    message: Idempotency,
) -> Decided<Claim> {
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
        let claimed = serde_json::from_str::<Option<Claimed>>(&kept)?.unwrap_or(Claimed { newest: 0, came_at: 0 });
        return Ok(Ok(claimed.claim(message)));
    }
    if let Err(rejection) = event {
        return Ok(Err(rejection.clone()));
    }
    let newest = rows.reads().newest_stops(i64::MAX, 1)?.first().copied().unwrap_or_default();
    let claimed = Claimed { newest, came_at: now.timestamp_micros() };
    rows.insert_idempotent(message, now, &serde_json::to_string(&claimed)?)?;
    Ok(Ok(claimed.claim(message)))
}

/// Gives the time of an outage back to a parked intent that goes on in silence.
pub(super) fn give_back<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: &SuspensionRow,
    absence: Option<Absence>,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    let Some(absence) = absence.filter(|absence| absence.concerns(&row.suspension)) else { return Ok(()) };
    let mut loaded = load_of(rows, row)?;
    let Some(at) = loaded.intent.stop.as_deref().and_then(|stop| absence.extended_stop(&stop.suspension, now)) else {
        return Ok(());
    };
    let (suspension_id, cause) = (row.suspension.id, ExtensionCause::Outage);
    let command = Command::Extend { suspension_id, later: Later::Until(at), reason: None, cause };
    act(rows, env, &mut loaded, &command, now)
}
