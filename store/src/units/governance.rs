//! Loads the policy of an intent, with the facts that its rules need, for the commands that a policy governs.

use chrono::{DateTime, Utc};
use domain::intent::command::Command;
use domain::intent::govern::cost_of;
use domain::intent::governance::{CompletionMode, Governance, Policy, WriteScope};
use domain::intent::record::{COST, Cost, Record};
use domain::intent::status::Status;
use domain::people::principal::Principal;
use domain::suspension::Kind;
use domain::suspension::requested::{APPROVE, COMPLETE};

use super::loaded::Loaded;
use crate::reads;
use crate::rows::prelude::*;
use crate::rows::{Decided, Listed, RowsResult};

/// How many of the newest approvals of an intent are searched for one that approves completing the intent as it is now.
const APPROVALS_LOOKED_AT: u32 = 50;

/// Loads the policy of the intent, and the facts by which the policy judges the command.
pub(super) fn load_governance<R: Rows>(
    rows: &mut R,
    loaded: &mut Loaded,
    command: &Command,
    principal: &Principal,
    now: DateTime<Utc>,
) -> Decided<()> {
    if !command.is_governed() && !matches!(command, Command::Unassign { .. }) {
        return Ok(Ok(()));
    }
    let Some(policy) = policy_of(rows, loaded.row.rid)? else { return Ok(Ok(())) };
    let mut governance = Governance::default();
    if policy.write_scope == Some(WriteScope::AssignedOnly) {
        loaded.intent.assigned = rows.reads().assigned(loaded.row.rid)?;
    }
    if let Command::Record(record) = command
        && policy.max_cost.is_some()
        && matches!(**record, Record::Cost(_))
    {
        match spent(rows, loaded, principal, now)? {
            Ok(spent) => governance.spent = spent,
            Err(rejection) => return Ok(Err(rejection)),
        }
    }
    if matches!(command, Command::SetStatus { status: Status::Completed, .. }) {
        governance.approved = is_approved(rows, loaded)?;
    }
    governance.policy = Some(policy);
    loaded.intent.governance = governance;
    Ok(Ok(()))
}

/// The policy of an intent.
pub(super) fn policy_of<R: Rows>(rows: &mut R, intent: i64) -> RowsResult<Option<Policy>> {
    // Every release has written policies in a form that is read here. But if a policy cannot be read, it must not be ignored, so
    // completing the intent then needs an approval.
    let strict = || Policy { completion_mode: Some(CompletionMode::RequireApproval), ..Policy::default() };
    Ok(rows.reads().policy(intent)?.map(|stored| Policy::read(stored).unwrap_or_else(|_| strict())))
}

/// The sum of the costs that are recorded. It is added up once, and then kept with the intent until its policy changes.
fn spent<R: Rows>(rows: &mut R, loaded: &Loaded, principal: &Principal, now: DateTime<Utc>) -> Decided<f64> {
    if let Some(spent) = rows.reads().spent(loaded.row.rid)? {
        return Ok(Ok(spent));
    }
    let recorded = match reads::records(rows.reads(), principal, loaded.intent.id, &[COST], usize::MAX, now)? {
        Ok(recorded) => recorded,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let mut spent = 0.0;
    for event in recorded {
        let cost: Cost = serde_json::from_value(event.payload.into())?;
        spent += cost_of(&cost.amount);
    }
    Ok(Ok(spent))
}

/// Whether a person approved completing the intent as it is now.
fn is_approved<R: Rows>(rows: &mut R, loaded: &Loaded) -> RowsResult<bool> {
    let approvals =
        Listed { requests: Some(Kind::Approval), beside: Some(loaded.row.rid), limit: APPROVALS_LOOKED_AT, ..Listed::default() };
    for row in rows.reads().suspensions(approvals)? {
        let response = row.suspension.ending.as_ref().and_then(|ending| ending.response.as_ref());
        if response.is_none_or(|value| value != APPROVE) {
            continue;
        }
        let requested = rows.reads().question(&row)?.requested;
        let counts = requested.is_some_and(|requested| {
            requested.action.as_deref() == Some(COMPLETE) && requested.intent_version == loaded.intent.version
        });
        if counts {
            return Ok(true);
        }
    }
    Ok(false)
}
