//! Decides whether a phase of a workflow may begin and end, by its contract (RFC-0024).

use crate::base::ids::IntentId;
use crate::intent::Intent;
use crate::intent::body::{IntentBody, Patch};
use crate::intent::contract::{Phase, is_reached_by};
use crate::intent::refusal::Refusal;
use crate::intent::status::Status;
use crate::problem::Rejection;

/// Refuses to change the contract of an intent that is no longer a draft: the contract must not change while others rely on it.
pub(super) fn may_patch(intent: &Intent, patches: &[Patch]) -> Result<(), Rejection> {
    if intent.status != Status::Draft && patches.iter().any(is_reached_by) { Err(Rejection::ContractFrozen) } else { Ok(()) }
}

/// Refuses a lease of an intent whose inputs are not there, or come from an intent that waits for a person.
pub(super) fn may_begin(intent: &Intent) -> Result<(), Refusal> {
    let Some(phase) = &intent.phase else { return Ok(()) };
    let (intent_id, title) = (intent.id, phase.title.clone());
    if let Some(supplier) = phase.suspended() {
        let (suspended_intent_id, resumes_at) = (supplier.id, supplier.resumes_at);
        return Err(Rejection::InputsSuspended { intent_id, title, suspended_intent_id, resumes_at }.into());
    }
    let unresolvable = phase.unresolvable();
    if unresolvable.is_empty() { Ok(()) } else { Err(Rejection::InputsMissing { intent_id, title, unresolvable }.into()) }
}

/// Refuses to complete an intent without the outputs that its contract names.
pub(super) fn may_complete(intent: &Intent) -> Result<(), Refusal> {
    let Some(phase) = &intent.phase else { return Ok(()) };
    Ok(owes(intent.id, &phase.title, phase.unmet())?)
}

/// Refuses to take outputs back from an intent that is completed, because other intents may read them. An intent that was completed
/// before contracts were checked may still lack them.
///
/// # Errors
///
/// `OutputsMissing` if the state lacks an output after the change that it had before.
pub fn keeps_outputs(id: IntentId, before: IntentBody, after: IntentBody) -> Result<(), Rejection> {
    let unmet = |body: IntentBody| Phase::of(body.title, body.state).map(|phase| phase.unmet());
    let title = after.title.clone();
    let (before, after) = (unmet(before), unmet(after));
    if after == before { Ok(()) } else { owes(id, &title, after.unwrap_or_default()) }
}

fn owes(intent_id: IntentId, title: &str, (missing, type_errors): (Vec<String>, Vec<String>)) -> Result<(), Rejection> {
    if missing.is_empty() && type_errors.is_empty() {
        return Ok(());
    }
    Err(Rejection::OutputsMissing { intent_id, title: title.to_owned(), missing, type_errors })
}
