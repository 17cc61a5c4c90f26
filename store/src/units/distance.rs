//! The distance (`questions.min_distance_seconds`): the least time between messages of one agent to one person.
//!
//! Guarantee: after five messages, which may leave at once, messages leave one distance apart, whichever server sends them, and
//! through restarts; in the time of five distances at most twenty-five leave. Mechanism: a message that leaves for the first
//! time writes a row, and the next message counts those rows; for a message that is too early, a time to leave (its place) is
//! reserved. Failure: if no place in the first half of the time to answer is left for a message, it leaves at once, unless twenty
//! messages have left in the last five distances; then it is not sent, and its record says so.

use chrono::{DateTime, Utc};
use domain::asking::pressing::{BURST, PLACES_MAX, URGENT, may_wait, pair};

use crate::rows::prelude::*;
use crate::rows::{OutboxRow, RowsResult, SuspensionRow};
use crate::surroundings::Env;

/// The detail of a message that waits for the time reserved for it.
const KEEPS_ITS_DISTANCE: &str =
    "this message waits, because the agent wrote to this person only a moment ago (questions.min_distance_seconds)";
/// The detail of a message that is not sent because no place early enough is left for it.
pub(super) const TOO_OFTEN: &str = "not sent: this agent sends this person too many messages, and this one could not have left in time (questions.min_distance_seconds)";
/// How long a message waits while another server decides about the same agent and person, in seconds.
pub(super) const BUSY_SECONDS: i64 = 1;

/// The decision whether, and when, a message leaves.
pub(super) enum Leave {
    /// At once; the message counts from now on.
    Now,
    /// Not before this time.
    At(DateTime<Utc>),
    /// Another server is deciding about the same agent and person; ask again after [`BUSY_SECONDS`].
    Unknown,
    /// Never, for the reason in [`TOO_OFTEN`].
    Never,
}

/// Whether a message may leave now.
pub(super) fn leave<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: &OutboxRow,
    suspension: &SuspensionRow,
    now: DateTime<Utc>,
) -> RowsResult<Leave> {
    // A message that was tried before was counted at its first try, so it may leave.
    let Some(window) = env.pressing.burst_window().filter(|_| row.tries == 0) else { return Ok(Leave::Now) };
    let pair = pair(&suspension.suspension.asked_by.name, &row.recipient);
    if !rows.take_pair(pair)? {
        return Ok(Leave::Unknown);
    }
    let left = rows.reads().departures(pair, now - window, now, BURST + URGENT)?;
    let earliest = env.pressing.leaves_at(&left, now);
    if earliest > now {
        let taken = rows.reads().places(pair, now, PLACES_MAX)?;
        let place = env.pressing.place(&taken, earliest);
        if taken.len() < PLACES_MAX && may_wait(row.queued_at, place, suspension.suspension.ends_at()) {
            rows.insert_place(pair, place, row.rid, now)?;
            return Ok(Leave::At(place));
        }
        if left.len() >= BURST + URGENT {
            return Ok(Leave::Never);
        }
    }
    rows.forget_departures(pair, now - window)?;
    rows.insert_departure(pair, now, row.rid)?;
    Ok(Leave::Now)
}

/// Puts off a message that is too early, until the time reserved for it.
pub(super) fn put_off<R: Rows>(rows: &mut R, row: &OutboxRow, until: DateTime<Utc>) -> RowsResult<()> {
    rows.requeue_outbox(row.rid, until, Some(KEEPS_ITS_DISTANCE))
}

/// Whether a queued message waits for the time reserved for it.
pub(super) fn keeps_its_distance(row: &OutboxRow) -> bool {
    row.tries == 0 && row.detail.as_deref() == Some(KEEPS_ITS_DISTANCE)
}
