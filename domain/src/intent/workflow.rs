//! Decides whether a phase of a workflow may begin and end, by its contract (RFC-0024).

use crate::base::ids::IntentId;
use crate::intent::Intent;
use crate::intent::body::Patch;
use crate::intent::contract::{Unmet, is_reached_by, unmet};
use crate::intent::dependency::HeldUp;
use crate::intent::refusal::Refusal;
use crate::intent::status::Status;
use crate::problem::Rejection;

/// Refuses to change the contract of an intent that is no longer a draft: the contract must not change while others rely on it.
pub(super) fn may_patch(intent: &Intent, patches: &[Patch]) -> Result<(), Rejection> {
    if intent.status != Status::Draft && patches.iter().any(is_reached_by) { Err(Rejection::ContractFrozen) } else { Ok(()) }
}

/// Refuses a lease of an intent whose inputs are not there, or come from an intent that waits for a person. If the coordinator of an intent
/// that waits for a person holds up all intents that need it, refuses a lease of each of these.
pub(super) fn may_begin(intent: &Intent) -> Result<(), Refusal> {
    if let Some(HeldUp { title, suspended_intent_id, resumes_at }) = intent.held_up_by.as_deref().cloned() {
        return Err(Rejection::InputsSuspended { intent_id: intent.id, title, suspended_intent_id, resumes_at }.into());
    }
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
    Ok(owes(intent.id, &phase.title, unmet(&phase.state))?)
}

/// Refuses to take a required output back from an intent that is completed, or to change the type of an output, because other intents
/// may read them. An intent that was completed before contracts were checked may lack outputs, and they can be added one by one.
///
/// # Errors
///
/// `OutputsMissing` with the outputs that the state had before the change, and does not have after it.
pub fn keeps_outputs(id: IntentId, before: &Unmet, after: Unmet, title: &str) -> Result<(), Rejection> {
    let new = |after: Vec<String>, before: &[String]| after.into_iter().filter(|one| !before.contains(one)).collect();
    owes(id, title, (new(after.0, &before.0), new(after.1, &before.1)))
}

fn owes(intent_id: IntentId, title: &str, (missing, type_errors): Unmet) -> Result<(), Rejection> {
    if missing.is_empty() && type_errors.is_empty() {
        return Ok(());
    }
    Err(Rejection::OutputsMissing { intent_id, title: title.to_owned(), missing, type_errors })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(before: &[&str], after: &[&str]) -> Vec<String> {
        let list = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<Vec<_>>();
        let id = IntentId(uuid::Uuid::nil());
        let missing = keeps_outputs(id, &(list(before), vec![]), (list(after), vec![]), "t");
        let types = keeps_outputs(id, &(vec![], list(before)), (vec![], list(after)), "t");
        match (missing, types) {
            (Ok(()), Ok(())) => Vec::new(),
            (Err(Rejection::OutputsMissing { missing, .. }), Err(Rejection::OutputsMissing { type_errors, .. })) => {
                assert_eq!(missing, type_errors);
                missing
            }
            other => panic!("{other:?}"),
        }
    }

    /// An intent that was completed without outputs can be mended step by step, and loses none of those that it has.
    #[test]
    fn a_completed_intent_loses_no_output() {
        assert!(kept(&[], &[]).is_empty());
        assert!(kept(&["a", "b"], &["a", "b"]).is_empty());
        assert!(kept(&["a", "b"], &["b"]).is_empty());
        assert_eq!(kept(&[], &["a"]), ["a"]);
        assert_eq!(kept(&["a", "b"], &["b", "c"]), ["c"]);
    }
}
