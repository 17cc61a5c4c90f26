//! Deletes records that are kept for a limited time.

use chrono::TimeDelta;

use super::wakes::UNTRIED_DAYS;
use crate::person::LOGIN_MAILS_WITHIN;
use crate::question::UNSENT_LASTS;
use crate::reads::hold;
use crate::rows::prelude::*;
use crate::rows::{RowsResult, day};
use crate::surroundings::Env;

/// How many records of each kind one transaction deletes at most.
const FORGOTTEN_PER_UNIT: u32 = 500;

pub(crate) fn forget_expired<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<u64> {
    let yesterday = day(env.clock.now()) - 1;
    rows.forget_agent_bytes_before(yesterday)?;
    // While deadlines are held back, the clock may have jumped ahead, and a subscription that is deleted now would not come
    // back.
    let is_held = hold(rows.reads(), env.watch)?.is_some();
    let ended = if is_held { 0 } else { rows.delete_ended_subscriptions(env.clock.now(), FORGOTTEN_PER_UNIT)? };
    let untried = env.clock.now() - TimeDelta::days(UNTRIED_DAYS);
    let wakes = if is_held { 0 } else { rows.delete_wake_posts_before(untried, FORGOTTEN_PER_UNIT)? };
    // The same holds for logins and sessions.
    let logins = if is_held { 0 } else { forget_logins(rows, env)? };
    Ok(ended + wakes + logins + rows.forget_idempotent_before(yesterday, FORGOTTEN_PER_UNIT)?)
}

/// Deletes logins that no longer count, forms that were kept for them, and sessions that have lasted for the longest time.
fn forget_logins<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<u64> {
    let now = env.clock.now();
    let links = rows.delete_logins_before(now - LOGIN_MAILS_WITHIN, FORGOTTEN_PER_UNIT)?;
    let at_issuer = rows.delete_ended_openid_logins(now, FORGOTTEN_PER_UNIT)?;
    let unsent = rows.delete_unsent_before(now - UNSENT_LASTS, FORGOTTEN_PER_UNIT)?;
    Ok(links + at_issuer + unsent + rows.delete_ended_sessions(now, FORGOTTEN_PER_UNIT)?)
}
