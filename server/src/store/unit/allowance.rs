//! What may be written, and for whom it was: neither a busy agent nor one that was talked into it leaves people without room to answer.
//!
//! Guarantee: what an agent writes, and what the server writes because of it, is counted in the transaction that writes it, whichever
//! server does. Mechanism: one row for each agent and day. Failure: what is under way at the same time when the bound is reached goes beyond
//! it, by a request each.

use chrono::{DateTime, Utc};
use domain::authority::{Action, Principal, Role};
use domain::problem::Rejection;
use domain::name::form;

use super::{Decided, Env, Loaded, day};
use crate::store::rows::{ReadRows, Rows, RowsResult};

/// What the rows and indexes of an event take besides its bytes, roughly.
pub(super) const EVENT_ROWS_BYTES: usize = 512;
const DAY_SECONDS: i64 = 86_400;

/// Refuses what has no room, and an agent that has written as much today as it may. Never an answer, and never an ending.
pub(super) fn admit<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    action: Action,
    loaded: Option<&Loaded>,
    now: DateTime<Utc>,
) -> Decided<()> {
    let withdraws = action == Action::SetStatus && loaded.is_some_and(|loaded| loaded.intent.open.is_some());
    if withdraws || matches!(action, Action::Respond | Action::Cancel) {
        return Ok(Ok(()));
    }
    if env.allowance.is_short_of_room() {
        return Ok(Err(Rejection::NoRoom));
    }
    let bytes_per_day = env.allowance.agent_bytes_per_day;
    if principal.role == Role::Agent && rows.reads().agent_bytes(&form(&principal.name), day(now))? >= bytes_per_day {
        let left = DAY_SECONDS - now.timestamp().rem_euclid(DAY_SECONDS);
        let retry_after_seconds = u32::try_from(left).unwrap_or(u32::MAX);
        return Ok(Err(Rejection::BytesSpent { bytes_per_day, retry_after_seconds }));
    }
    Ok(Ok(()))
}

/// Counts what was written for an agent today.
pub(super) fn charge<R: Rows>(rows: &mut R, agent: &str, bytes: usize, now: DateTime<Utc>) -> RowsResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    rows.add_agent_bytes(&form(agent), day(now), i64::try_from(bytes).unwrap_or(i64::MAX))
}
