//! The distance between messages of one agent to one person.
//!
//! Guarantee: after a burst they leave a distance apart, whichever server sends them, and through restarts. Mechanism: what leaves for the
//! first time leaves a row with its cause; the next one counts those, and is put off if it is too early. Failure: a message that would wait
//! until its time is half over goes at once, so that waiting loses no question and takes nobody's time to answer.

use chrono::{DateTime, TimeDelta, Utc};
use domain::pressing::{BURST, may_wait, pair};
use domain::suspension::Question;

use super::Env;
use crate::store::rows::{OutboxRow, ReadRows, Rows, RowsResult, SuspensionRow};

/// What is said of a message that waits.
pub(super) const KEEPS_ITS_DISTANCE: &str =
    "it keeps its distance from earlier messages of this agent to this person (questions.min_distance_seconds)";
/// After how long a message is looked at again while another server decides about the same agent and person, in seconds.
const BUSY_SECONDS: i64 = 1;

/// Until when a message must wait; if it need not, it counts as leaving now.
pub(super) fn waits_until<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: &OutboxRow,
    suspension: &SuspensionRow,
    question: &Question,
    now: DateTime<Utc>,
) -> RowsResult<Option<DateTime<Utc>>> {
    // Whoever was tried before has counted then.
    let Some(window) = env.pressing.burst_window().filter(|_| row.tries == 0) else { return Ok(None) };
    let pair = pair(&suspension.suspension.asked_by.name, &row.recipient);
    if !rows.take_pair(pair)? {
        return Ok(Some(now + TimeDelta::seconds(BUSY_SECONDS)));
    }
    let left = rows.reads().departures(pair, now - window, now, BURST)?;
    let leaves_at = env.pressing.leaves_at(&left, now);
    if leaves_at > now && may_wait(row.queued_at, leaves_at, of_use_until(row, suspension, question)) {
        return Ok(Some(leaves_at));
    }
    rows.forget_departures(pair, now - window)?;
    rows.insert_departure(pair, now, row.rid)?;
    Ok(None)
}

/// Until when a message is of use: the next attempt sends its own, and after the deadline nobody is asked.
fn of_use_until(row: &OutboxRow, suspension: &SuspensionRow, question: &Question) -> Option<DateTime<Utc>> {
    let asked = &suspension.suspension;
    let next = question.retry_policy.as_ref().and_then(|policy| policy.next_due_at(asked.suspended_at, row.attempt));
    next.into_iter().chain(asked.expires_at).min()
}
