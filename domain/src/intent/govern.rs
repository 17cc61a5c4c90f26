//! Enforces the policy of an intent: which commands it refuses, and who may change it.

use serde_json::Number;

use crate::base::name::is_same;
use crate::base::text::is_blank;
use crate::intent::Intent;
use crate::intent::command::Command;
use crate::intent::event::{Event, Violation};
use crate::intent::governance::{CompletionMode, Policy, WriteScope};
use crate::intent::record::Record;
use crate::intent::refusal::Refusal;
use crate::intent::status::Status;
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;

/// The rounding error by which a sum of costs may exceed `max_cost`, as a fraction of `max_cost`. With binary fractions, 3 times
/// 0.1 is a little more than 0.3.
const ROUNDING: f64 = 1e-9;

/// Refuses a command that the policy of the intent forbids; the refusal is recorded.
///
/// # Errors
///
/// `GovernanceViolation`, with the event that records it.
pub(super) fn enforce(intent: &Intent, command: &Command, by: &Principal) -> Result<(), Refusal> {
    let Some(policy) = &intent.governance.policy else { return Ok(()) };
    // An agent may announce a question to people whatever the policy says. A change of the policy itself is judged by `govern`.
    if matches!(command, Command::Govern(_) | Command::SetStatus { announces: Some(_), .. }) {
        return Ok(());
    }
    // An agent may always take itself off.
    let takes_off_another = matches!(command, Command::Unassign { agent_id } if !by.may_act_for(agent_id));
    if by.role == Role::Agent && (command.is_governed() || takes_off_another) {
        writers(intent, policy, by)?;
    }
    if matches!(command, Command::PatchState { .. }) {
        return after_approval(intent, policy);
    }
    if let Command::SetStatus { status, reason, .. } = command {
        return change_of_status(intent, policy, *status, reason.as_deref());
    }
    if let Command::Record(record) = command
        && let Record::Cost(cost) = &**record
    {
        return within_cost(intent, policy, &cost.amount);
    }
    if let Command::Assign(assign) = command {
        return may_be_assigned(policy, &assign.agent_id);
    }
    if let Command::Task(task) = command
        && let Some(agent_id) = task.names_agent()
    {
        return may_be_assigned(policy, agent_id);
    }
    Ok(())
}

pub(super) fn may_be_assigned(policy: &Policy, agent_id: &str) -> Result<(), Refusal> {
    let allowed = policy.allowed();
    if allowed.is_empty() || allowed.iter().any(|name| is_same(name, agent_id)) {
        return Ok(());
    }
    Err(violation("allowed_agents", "the policy of the intent does not allow this agent"))
}

fn writers(intent: &Intent, policy: &Policy, by: &Principal) -> Result<(), Refusal> {
    let is_assigned = || intent.assigned.iter().any(|agent_id| by.may_act_for(agent_id));
    if policy.write_scope == Some(WriteScope::AssignedOnly) && !is_assigned() {
        return Err(violation(
            "write_scope",
            "the policy of the intent lets assigned agents write only, and this agent is not assigned",
        ));
    }
    let allowed = policy.allowed();
    if !allowed.is_empty() && !allowed.iter().any(|agent_id| by.may_act_for(agent_id)) {
        return Err(violation("allowed_agents", "the policy of the intent does not allow this agent"));
    }
    Ok(())
}

fn change_of_status(intent: &Intent, policy: &Policy, status: Status, reason: Option<&str>) -> Result<(), Refusal> {
    if policy.require_status_reason == Some(true) && reason.is_none_or(is_blank) {
        return Err(violation("require_status_reason", "the policy of the intent wants a reason for each change of status"));
    }
    if status == Status::Completed
        && policy.completion_mode == Some(CompletionMode::RequireApproval)
        && !intent.governance.approved
    {
        let message = format!(
            "the policy of the intent requires that a person approves the action \"complete\" for the present version of the \
             intent, {}; request a new approval after each change",
            intent.version
        );
        return Err(violation("completion_mode", &message));
    }
    Ok(())
}

/// Refuses to change the state of an intent that was completed with a person's approval: the approval holds for the state at that
/// time.
fn after_approval(intent: &Intent, policy: &Policy) -> Result<(), Refusal> {
    if intent.status == Status::Completed && policy.completion_mode == Some(CompletionMode::RequireApproval) {
        let message =
            "the intent is completed, and its policy wants a person's approval of that, so its state cannot be changed any more";
        return Err(violation("completion_mode", message));
    }
    Ok(())
}

fn within_cost(intent: &Intent, policy: &Policy, amount: &Number) -> Result<(), Refusal> {
    let Some(max_cost) = policy.max_cost.as_ref().and_then(Number::as_f64) else { return Ok(()) };
    let total = intent.governance.spent + cost_of(amount);
    if total <= max_cost + max_cost * ROUNDING {
        return Ok(());
    }
    Err(violation("max_cost", &format!("the costs of the intent would be {total}, and its policy allows {max_cost}")))
}

/// An amount as a policy counts it. A negative amount counts as 0, so that it does not make up for other costs.
pub fn cost_of(amount: &Number) -> f64 {
    amount.as_f64().unwrap_or(f64::INFINITY).max(0.0)
}

fn violation(rule: &'static str, message: &str) -> Refusal {
    Refusal {
        rejection: Rejection::GovernanceViolation { rule: rule.to_owned(), message: message.to_owned() },
        deadline: Vec::new(),
        record: Some(Box::new(Event::Violated(Violation { rule: rule.to_owned(), detail: message.to_owned() }))),
    }
}

/// Sets the policy of an intent, or removes it. The agent that created the intent may make it stricter; an admin may also loosen it.
pub(super) fn govern(intent: &Intent, policy: Option<&Policy>, by: &Principal) -> Result<Vec<Event>, Refusal> {
    let in_force = intent.governance.policy.clone();
    let (before, after) = (in_force.clone().unwrap_or_default(), policy.cloned().unwrap_or_default());
    if by.role != Role::Admin && !after.is_as_strict_as(&before) {
        let reason = "an agent may make the policy of its intent stricter; only an admin may loosen or remove it".into();
        return Err(Rejection::Forbidden { reason }.into());
    }
    if in_force.as_ref() == policy {
        return Ok(Vec::new());
    }
    Ok(vec![Event::PolicyChanged { policy: policy.cloned(), version: intent.version + 1 }])
}
