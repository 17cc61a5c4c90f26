//! The steps after failures that are due: another attempt, or another agent.

use chrono::{DateTime, Utc};
use domain::intent::command::Command;

use super::act::act;
use super::execute::in_force;
use super::governance::policy_of;
use super::loaded::{Loaded, load};
use crate::rows::RowsResult;
use crate::rows::prelude::*;
use crate::surroundings::Env;

/// Takes the steps that are due, as many as one transaction may; returns how many these were.
pub(super) fn take_steps<R: Rows>(rows: &mut R, env: &Env<'_>, limit: u32, now: DateTime<Utc>) -> RowsResult<usize> {
    let due = rows.reads().due_retries(now, limit)?;
    for intent in &due {
        let loaded = rows.reads().intent_at(*intent).and_then(|row| load(rows, row, None));
        match loaded {
            Ok(mut loaded) => take_step(rows, env, &mut loaded, now)?,
            Err(error) if error.is_unreadable() => {
                tracing::error!(intent.rid = intent, error = %error, "an intent cannot be read, so its failed work is not repeated");
                rows.move_retry(*intent, None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(due.len())
}

fn take_step<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &mut Loaded, now: DateTime<Utc>) -> RowsResult<()> {
    let rid = loaded.row.rid;
    loaded.intent.assigned = rows.reads().assigned(rid)?;
    loaded.intent.governance.policy = policy_of(rows, rid)?;
    let fallback = loaded.intent.retry.as_ref().and_then(|retry| retry.policy.fallback_agent_id.clone());
    let fallback = fallback.filter(|fallback| loaded.intent.assigned.contains(fallback));
    let in_force = fallback.map(|fallback| in_force(rows, loaded, &fallback)).transpose()?.flatten();
    act(rows, env, loaded, &Command::RetryDue { in_force: in_force.map(Box::new) }, now)?;
    // A step that waits because the intent is suspended or blocked is due again once the intent goes on.
    rows.move_retry(rid, loaded.intent.retry_due_at())
}
