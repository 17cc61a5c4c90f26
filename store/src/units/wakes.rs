//! Messages that a suspension is over, to the endpoints that the operator named.
//!
//! Guarantee: an endpoint is told at least once of each suspension that it is told of, whatever ended it. Mechanism: the transaction that ends
//! a suspension queues one row for each endpoint; a worker leases the row, posts the message, and deletes the row. Failure: a message
//! that ten tries could not hand over is given up after about three days, and the log of the server says so.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::SuspensionId;
use domain::suspension::wake::WakeType;
use domain::suspension::{Kind, Resolution};
use domain::wire::WakeView;

use super::backoff::pause;
use super::loaded::Loaded;
use crate::hub::Notice;
use crate::posting::{LeasedWake, LeasedWakes, WakeGate, WakeTurn};
use crate::reads::hold;
use crate::rows::prelude::*;
use crate::rows::{RowsError, RowsResult, SuspensionRow, WakePostRow};
use crate::sending::DeliveryResult;
use crate::standing::Hold;
use crate::stopped::stop_of;
use crate::surroundings::Env;

/// How long a worker may take to send one message before another may try, in seconds.
const LEASE_SECONDS: i64 = 60;
/// The most messages that one transaction gives up because their endpoint takes none any more.
pub(crate) const GIVEN_UP_PER_UNIT: u32 = 100;
/// The channel name that is passed to [`pause`]. For every name but that of mail, [`pause`] returns the pauses of webhooks.
const LIKE_WEBHOOKS: &str = "wake";
/// After how many days a message that no server has tried is deleted: its endpoint is in no configuration any more. The longest pause
/// between two tries is a day.
pub(super) const UNTRIED_DAYS: i64 = 4;

/// Queues the messages that a suspension has ended.
pub(super) fn queue<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &Loaded,
    (id, resolution): (SuspensionId, Resolution),
    now: DateTime<Utc>,
) -> RowsResult<()> {
    if env.wakes.is_empty() {
        return Ok(());
    }
    let row = loaded.suspension_row(id)?;
    let agent = agent(row, &loaded.intent.created_by.name);
    let wake = WakeType::of(row.suspension.kind, resolution);
    let endpoints: Vec<&str> =
        env.wakes.iter().filter(|rule| rule.wants(agent, wake)).map(|rule| rule.endpoint.as_str()).collect();
    if !endpoints.is_empty() {
        rows.notice(Notice::Wake);
    }
    rows.insert_wake_posts(row.rid, &endpoints, now)
}

/// The agent that waited: the one that asked or parked its work; for a pause and an end of work, the creator of the intent.
fn agent<'a>(row: &'a SuspensionRow, creator: &'a str) -> &'a str {
    let is_anothers = matches!(row.suspension.kind, Kind::Paused | Kind::Stopping);
    if is_anothers { creator } else { &row.suspension.asked_by.name }
}

/// Leases messages as far as their endpoints have room. The messages of an endpoint that takes none any more are given up.
pub(crate) fn lease<R: Rows>(rows: &mut R, env: &Env<'_>, turns: &[WakeTurn]) -> RowsResult<LeasedWakes> {
    let mut leased = LeasedWakes::default();
    if hold(rows.reads(), env.watch)?.is_some() || env.allowance.is_short_of_room() {
        return Ok(leased);
    }
    let now = env.clock.now();
    for WakeTurn { endpoint, gate } in turns {
        let (limit, is_closed) = match gate {
            WakeGate::Room(room) => (*room, false),
            WakeGate::Closed => (GIVEN_UP_PER_UNIT, true),
        };
        for row in rows.reads().due_wake_posts(endpoint, now, limit)? {
            if is_closed {
                rows.delete_wake_post(endpoint, row.suspension)?;
                leased.given_up += 1;
            } else if let Some(wake) = lease_one(rows, env, row, now)? {
                leased.wakes.push(wake);
            }
        }
    }
    Ok(leased)
}

/// Leases one message; `None` if another server has just done so, or if the message cannot be made.
fn lease_one<R: Rows>(rows: &mut R, env: &Env<'_>, row: WakePostRow, now: DateTime<Utc>) -> RowsResult<Option<LeasedWake>> {
    let mut lease = [0; 16];
    env.entropy.fill(&mut lease);
    let after = WakePostRow { lease: Some(lease), due_at: now + TimeDelta::seconds(LEASE_SECONDS), ..row.clone() };
    if !rows.move_wake_post(&row, &after)? {
        return Ok(None);
    }
    let include_value = env.wakes.iter().any(|rule| rule.endpoint == row.endpoint && rule.include_value);
    let wake = match view(rows.reads(), row.suspension, include_value) {
        Ok(wake) => wake,
        Err(error) if error.is_unreadable() => {
            tracing::error!(suspension.rid = row.suspension, error = %error, "a suspension cannot be read; no endpoint is told that it is over");
            None
        }
        Err(error) => return Err(error),
    };
    let Some(wake) = wake else {
        rows.delete_wake_post(&row.endpoint, row.suspension)?;
        return Ok(None);
    };
    Ok(Some(LeasedWake { endpoint: row.endpoint, suspension: row.suspension, lease, wake, now }))
}

/// The message that a suspension is over; `None` while it is open.
fn view<R: ReadRows>(rows: &mut R, suspension: i64, include_value: bool) -> RowsResult<Option<WakeView>> {
    let row = rows.suspension_at(suspension)?;
    let gone = if row.suspension.kind.is_stop() { stop_of(rows, &row)?.gone } else { None };
    let intent = rows.intent_at(row.intent)?.intent;
    let agent = agent(&row, &intent.created_by.name).to_owned();
    Ok(WakeView::of(&row.suspension, gone.as_ref(), agent, include_value))
}

/// Records the result of a leased message. If the lease is no longer valid, changes nothing and returns false.
pub(crate) fn complete<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    (endpoint, suspension, lease): (&str, i64, [u8; 16]),
    result: &DeliveryResult,
) -> RowsResult<bool> {
    let found = rows.reads().wake_post(endpoint, suspension)?;
    let Some(row) = found.filter(|row| row.lease == Some(lease)) else { return Ok(false) };
    let reason = match result {
        DeliveryResult::Sent(_) => {
            rows.delete_wake_post(endpoint, suspension)?;
            return Ok(true);
        }
        DeliveryResult::Retry { reason, after } => match pause(LIKE_WEBHOOKS, row.tries + 1, env.entropy) {
            Some(pause) => {
                // If the clock has just jumped ahead, the time of the next try would be computed from a wrong time, and might
                // be hours away.
                if !env.watch.is_steady() {
                    return Err(RowsError::Held(Hold::Clock.why()));
                }
                let due_at = env.clock.now() + after.map_or(pause, |after| after.max(pause));
                let after = WakePostRow { tries: row.tries + 1, due_at, lease: None, ..row.clone() };
                return rows.move_wake_post(&row, &after);
            }
            None => reason,
        },
        DeliveryResult::Failed(reason) => reason,
    };
    tracing::warn!(reason, "an endpoint was not told that a suspension is over, and the message was given up");
    rows.delete_wake_post(endpoint, suspension)?;
    Ok(true)
}
