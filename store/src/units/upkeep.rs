//! Deletes records that are kept for a limited time.

use crate::reads::hold;
use crate::rows::prelude::*;
use crate::rows::{RowsResult, day};
use crate::surroundings::Env;

/// How many idempotency records, and how many ended subscriptions, one transaction deletes at most.
const FORGOTTEN_PER_UNIT: u32 = 500;

pub(crate) fn forget_expired<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<u64> {
    let yesterday = day(env.clock.now()) - 1;
    rows.forget_agent_bytes_before(yesterday)?;
    // While deadlines are held back, the clock may have jumped ahead, and a subscription that is deleted now would not come
    // back.
    let is_held = hold(rows.reads(), env.watch)?.is_some();
    let ended = if is_held { 0 } else { rows.delete_ended_subscriptions(env.clock.now(), FORGOTTEN_PER_UNIT)? };
    Ok(ended + rows.forget_idempotent_before(yesterday, FORGOTTEN_PER_UNIT)?)
}
