//! Proposed actions: an answer that approves an edit, and the answers, digests and edits that the holder of the log made up.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;
#[expect(dead_code, reason = "other tests need the rest")]
mod world;

use domain::suspension::evidence::action_digest;
use serde_json::{Value, json};
use verify::report::{Report, Verdict};
use verify::{Options, Watchers, verify};
use world::{Tale, World};

fn digest(action: &Value) -> Value {
    json!(action_digest(action.as_object().unwrap()).unwrap().to_string())
}

fn payment(amount: u32) -> Value {
    json!({"amount": amount, "to": "DE02"})
}

/// A world in which a question proposes a payment of 2,500, and a person approved one of 2,400.
fn edited() -> World {
    let mut world = World::honest();
    let asked = world.payload(Tale::Chosen, "intent.suspended");
    let schema = json!({"type": "object", "properties": {"amount": {"type": "integer", "maximum": 5000}}});
    (asked["proposal"], asked["editable"]) = (payment(2500), schema);
    let answer = world.payload(Tale::Chosen, "intent.resumed");
    answer["proposal"] = payment(2400);
    (answer["action_digest"], answer["proposed_digest"]) = (digest(&payment(2400)), digest(&payment(2500)));
    answer["presented_hash"] = json!(format!("sha256:{}", "A".repeat(43)));
    world
}

fn judge(world: &World) -> Report {
    let log = world.log();
    let options = Options::with_keys(vec![log.key.verifying().clone()]);
    verify("export", log.export(log.events.len(), None).write().as_bytes(), &options, Watchers::default())
}

/// The world with this change of the answer has this finding.
fn found(change: impl Fn(&mut Value), code: &str, words: &str) {
    let mut world = edited();
    change(world.payload(Tale::Chosen, "intent.resumed"));
    let report = judge(&world);
    let first = report.findings.first().map(|finding| (finding.code.text(), finding.text.as_str()));
    assert!(first.is_some_and(|(found, text)| found == code && text.contains(words)), "{words}: {first:?}");
}

#[test]
fn an_answer_that_approves_an_edit_is_right() {
    let report = judge(&edited());
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.findings);
}

/// The final action in the log is what an auditor takes for approved. A holder of the log who writes another one is found.
#[test]
fn an_action_that_no_person_may_have_approved_is_found() {
    found(|answer| answer["proposal"] = json!({"amount": 2400, "to": "DE99"}), "answer_invalid", "may not be edited");
    found(|answer| answer["proposal"] = payment(5001), "answer_invalid", "at most 5000");
    found(|answer| answer["proposal"] = payment(2300), "decision_differs", "action_digest");
    found(|answer| answer["action_digest"] = digest(&payment(2500)), "decision_differs", "action_digest");
    found(|answer| answer["proposed_digest"] = digest(&payment(2400)), "decision_differs", "proposed_digest");
    found(|answer| drop(answer.as_object_mut().unwrap().remove("proposed_digest")), "decision_differs", "proposed_digest");
    found(|answer| drop(answer.as_object_mut().unwrap().remove("proposal")), "decision_differs", "");
    let without = |answer: &mut Value| {
        for name in ["action_digest", "proposed_digest", "presented_hash"] {
            answer.as_object_mut().unwrap().remove(name);
        }
    };
    found(without, "decision_differs", "no hash of the action");
}

/// An answer to a question without a proposal has no action.
#[test]
fn an_action_from_nowhere_is_found() {
    let mut world = World::honest();
    world.payload(Tale::Chosen, "intent.resumed")["proposal"] = payment(1);
    let report = judge(&world);
    assert!(report.findings.first().is_some_and(|finding| finding.text.contains("proposes no action")), "{:?}", report.findings);
}
