//! Limits how much may be written. An agent that writes too much, by mistake or because a text talked it into that, must not fill
//! the disk, because then no person can answer.
//!
//! Guarantee: every event that an agent causes, with the record kept under its idempotency key, is counted in the transaction
//! that writes it, on every server. The rows of messages are not counted; their number is bounded by people and attempts.
//! Mechanism: one row for each agent and day. Failure: requests that are under way at the same moment do not see each other's
//! bytes, so each of them can exceed the limit once.

use chrono::{DateTime, Utc};
use domain::base::name::form;
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;
use domain::suspension::Kind;

use super::loaded::Loaded;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult, day};
use crate::surroundings::Env;

/// Roughly how many bytes the rows and indexes of an event take besides the event itself.
pub(super) const EVENT_ROWS_BYTES: usize = 512;
const DAY_SECONDS: i64 = 86_400;

/// Refuses a write for which the disk has no room, or whose agent has written its daily limit. Answers, endings and pauses always pass.
pub(super) fn admit<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    action: Action,
    loaded: Option<&Loaded>,
    now: DateTime<Utc>,
) -> Decided<()> {
    let is_held = |loaded: &Loaded| loaded.intent.open.is_some() || loaded.intent.stop.is_some();
    let withdraws = action == Action::SetStatus && loaded.is_some_and(is_held);
    let is_ending = |loaded: &Loaded| loaded.intent.stop.as_deref().is_some_and(|stop| stop.suspension.kind == Kind::Stopping);
    let hands_in = action == Action::Settle && loaded.is_some_and(is_ending);
    let ends =
        matches!(action, Action::Respond | Action::Decide | Action::Cancel | Action::Pause | Action::Resume | Action::Stop);
    if withdraws || hands_in || ends {
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

/// Adds to the bytes that an agent has written today.
pub(super) fn charge<R: Rows>(rows: &mut R, agent: &str, bytes: usize, now: DateTime<Utc>) -> RowsResult<()> {
    if bytes == 0 {
        return Ok(());
    }
    rows.add_agent_bytes(&form(agent), day(now), i64::try_from(bytes).unwrap_or(i64::MAX))
}
