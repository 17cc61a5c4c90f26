//! Gives up messages before their last try, if their endpoint takes too long and another channel can ask a person at once.
//!
//! Guarantee: a message is given up only if a person is asked by another channel instead; without another channel, a late
//! message is better than none. Mechanism: the people of the next attempt are asked once no message of an attempt can reach its
//! recipient any more. So all other messages of the attempt that wait for the same endpoint are given up in the same
//! transaction. Failure: a message that another worker is sending may get through, so it is waited for.

use chrono::{DateTime, TimeDelta, Utc};
use domain::intent::deliveries::{has_another_way, is_worth_waiting};
use domain::suspension::Question;
use domain::suspension::delivery::{DeliveryRecord, DeliveryState as Shown, Fate};

use super::finish::finish_delivery;
use super::loaded::load_of;
use super::message::{as_logged, read, sibling};
use super::queue::settle;
use crate::fact::Fact;
use crate::hub::Notice;
use crate::rows::prelude::*;
use crate::rows::{OutboxRow, RowsResult, SuspensionRow};
use crate::sending::{Lane, Leased, LinePlace};
use crate::surroundings::Env;

/// The most messages that may be due for one webhook endpoint at the same time. A further message is given up, if a person can be
/// asked by another channel instead.
const ENDPOINT_DUE_MAX: u32 = 1_000;
/// How many messages beyond [`ENDPOINT_DUE_MAX`] one query reads. In one turn the worker makes at most two of these queries for
/// each endpoint.
const BEYOND_PER_UNIT: u32 = 16;

/// The detail of a message that is given up because it is beyond [`ENDPOINT_DUE_MAX`].
const TOO_MANY: &str = "too many messages wait for this endpoint";

/// The results of one turn so far.
pub(super) struct Taking {
    pub(super) leased: Leased,
    /// The rows of messages that were given up together with another one.
    pub(super) given_up: Vec<i64>,
}

/// Whether waiting so long for an endpoint would take too much of the time until the next attempt or the deadline.
pub(super) fn is_pressed(
    row: &OutboxRow,
    suspension: &SuspensionRow,
    question: &Question,
    wait: TimeDelta,
    now: DateTime<Utc>,
) -> bool {
    let asked = &suspension.suspension;
    let next = question.retry_policy.as_ref().and_then(|policy| policy.next_due_at(asked.suspended_at, asked.attempt));
    let until = next.into_iter().chain(asked.ends_at()).min().filter(|_| row.attempt == asked.attempt);
    until.is_some_and(|until| !is_worth_waiting(wait, until - now))
}

/// Gives up a message, with the others of its attempt that wait for the same endpoint, if a person is then asked by another
/// channel; returns the rows of the messages given up.
pub(super) fn give_up<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: &OutboxRow,
    suspension: &SuspensionRow,
    question: &Question,
    why: &str,
) -> RowsResult<Vec<i64>> {
    // On PostgreSQL this locks the intent, so two servers that each hold one message of the attempt decide one after the other.
    load_of(rows, suspension)?;
    let mut lost = rows.reads().waiting_beside(row)?;
    let mut siblings = Vec::new();
    for (other, state) in rows.reads().deliveries(row.suspension)?.into_iter().filter(|(other, _)| other.rid != row.rid) {
        let is_ours = other.channel != row.channel || lost.iter().any(|waiting| waiting.rid == other.rid);
        let mut sibling = sibling(other, state);
        if sibling.state == Shown::Queued && !is_ours {
            sibling.state = Shown::Sending;
        }
        siblings.push(sibling);
    }
    let delivery = as_logged(row.clone(), suspension, why);
    let record = DeliveryRecord { delivery, fate: Fate::Failed, siblings, question: None, channels: env.channels.clone() };
    if !has_another_way(suspension.suspension.attempt, question, &record) {
        return Ok(Vec::new());
    }
    lost.push(row.clone());
    lost.sort_by_key(|row| row.rid);
    let rids = lost.iter().map(|row| row.rid).collect();
    for row in lost {
        finish_delivery(rows, env, row, suspension, Fate::Failed, why)?;
    }
    Ok(rids)
}

/// Gives up due messages beyond an endpoint's limit, if another channel can ask: a message that waits behind a thousand others
/// comes too late.
///
/// Every turn of the worker reads the newest messages first, and then as many older ones, from the place at which its previous
/// turn stopped. So messages that cannot be given up, which are read again and again, do not hide others that can.
pub(super) fn turn_away<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    lane: &Lane,
    now: DateTime<Utc>,
    taking: &mut Taking,
) -> RowsResult<()> {
    let end = LinePlace { due_at: now, rid: i64::MAX };
    let mut beyond = rows.reads().due_beyond(&lane.channel, now, ENDPOINT_DUE_MAX, end, BEYOND_PER_UNIT)?;
    let mut goes_on_at = None;
    if let Some(reached) = last_of(&beyond) {
        let from = lane.line.map_or(reached, |place| place.min(reached));
        let further = rows.reads().due_beyond(&lane.channel, now, ENDPOINT_DUE_MAX, from, BEYOND_PER_UNIT)?;
        goes_on_at = last_of(&further);
        beyond.extend(further);
    }
    taking.leased.lines.push((lane.channel.clone(), goes_on_at));
    let mut turned_away = 0;
    for row in beyond {
        if taking.given_up.contains(&row.rid) {
            continue;
        }
        let (suspension, message) = match read(rows, &row) {
            Ok(read) => read,
            // A message that cannot be read is left out here. When its turn to be sent comes, it is put off, and the error is
            // logged.
            Err(error) if error.is_unreadable() => continue,
            Err(error) => return Err(error),
        };
        if suspension.suspension.ending.is_some() || suspension.suspension.is_expired(now) {
            taking.leased.untried += 1;
            settle(rows, row, now)?;
            continue;
        }
        let given_up = give_up(rows, env, &row, &suspension, &message.question, TOO_MANY)?;
        for _ in &given_up {
            rows.notice(Notice::Fact(Fact::QueueFull));
        }
        turned_away += given_up.len();
        taking.given_up.extend(given_up);
    }
    if turned_away > 0 {
        taking.leased.untried += turned_away;
        taking.leased.turned_away.push((lane.channel.clone(), turned_away));
    }
    Ok(())
}

/// The place of the last message that was read, at which the next turn goes on; `None` if there were fewer messages than the
/// limit.
fn last_of(looked_at: &[OutboxRow]) -> Option<LinePlace> {
    let last = looked_at.last().filter(|_| looked_at.len() == BEYOND_PER_UNIT as usize)?;
    Some(LinePlace { due_at: last.due_at, rid: last.rid })
}
