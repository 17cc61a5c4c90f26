//! Questions that are assigned to people, and those on which several people must agree: the answers that count, and those that the holder of
//! the log made up.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;
#[expect(dead_code, reason = "other tests need the rest")]
mod world;

use serde_json::{Value, json};
use verify::report::{Report, Verdict};
use verify::{Options, Watchers, verify};
use world::{ASKED_AT, DEADLINE, Tale, World, at, id, key};

const DAN: &str = "dan@x.example";
/// The subject of a key; the list of people has it as an address.
const ALICE: &str = "alice";
const RESUMED: &str = "intent.resumed";
const COUNTED: &str = "intent.answer_counted";
/// When the answer of the world is given.
const ANSWERED_AT: u64 = ASKED_AT + 100;

fn judge(world: &World) -> Report {
    let log = world.log();
    let options = Options::with_keys(vec![log.key.verifying().clone()]);
    verify("export", log.export(log.events.len(), None).write().as_bytes(), &options, Watchers::default())
}

fn verified(world: &World) {
    let report = judge(world);
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.findings);
    let remarks: Vec<&str> =
        report.not_checkable.iter().map(|remark| remark.code).filter(|code| *code == "decisions_people").collect();
    assert!(remarks.is_empty(), "{remarks:?}");
}

fn found(world: &World, code: &str, words: &str) {
    let report = judge(world);
    let first = report.findings.first().map(|finding| (finding.code.text(), finding.text.as_str()));
    assert!(first.is_some_and(|(found, text)| found == code && text.contains(words)), "{words}: {first:?}");
}

/// Adds an event of the server's log, with a leaf before those of all intents.
fn early(world: &mut World, at: u64, event_type: &str, payload: Value) {
    late(world, at, event_type, payload);
    let event = world.events.pop().unwrap();
    let place = world.events.iter().position(|event| event.contains_key("intent_id")).unwrap();
    world.events.insert(place, event);
}

/// Adds an event of the server's log, with a leaf behind all others.
fn late(world: &mut World, at: u64, event_type: &str, payload: Value) {
    world.add(("log", &json!("server")), "root", at, event_type, payload);
}

fn person(address: &str, role: &str) -> Value {
    json!({"person_id": id(0xf00 + address.len() as u64), "address": address, "role": role})
}

fn finance(members: &[&str]) -> Value {
    json!({"group": "finance", "members": members})
}

/// A world in which the question that Dan answers is assigned to the group finance.
fn assigned() -> World {
    let mut world = World::honest();
    world.payload(Tale::Linked, "intent.suspended")["assignees"] = json!({"groups": ["finance"]});
    world
}

#[test]
fn an_answer_by_an_assignee_is_right() {
    let mut world = assigned();
    early(&mut world, 3, "person.added", person(DAN, "operator"));
    early(&mut world, 4, "group.changed", finance(&[DAN]));
    verified(&world);
    // Two servers may have written the events in another order.
    let mut world = assigned();
    late(&mut world, 3, "person.added", person(DAN, "operator"));
    late(&mut world, 4, "group.changed", finance(&[DAN]));
    verified(&world);
    // The clocks of two servers differ by a minute.
    let mut world = assigned();
    early(&mut world, 3, "person.added", person(DAN, "operator"));
    early(&mut world, 4, "group.changed", finance(&[DAN]));
    early(&mut world, ANSWERED_AT - 60, "group.changed", finance(&[]));
    verified(&world);
    let mut world = assigned();
    world.payload(Tale::Linked, "intent.suspended")["assignees"] = json!({"roles": ["admin"]});
    early(&mut world, 3, "person.added", person(DAN, "operator"));
    early(&mut world, 4, "person.changed", person(DAN, "admin"));
    verified(&world);
}

#[test]
fn an_answer_by_another_person_is_found() {
    let refused = |happened: &[(u64, &str, Value)]| {
        let mut world = assigned();
        for (at, event_type, payload) in happened {
            early(&mut world, *at, event_type, payload.clone());
        }
        found(&world, "answer_not_allowed", "assigned to other people");
    };
    let listed = (3, "person.added", person(DAN, "operator"));
    let member = (4, "group.changed", finance(&[DAN]));
    refused(&[]);
    refused(std::slice::from_ref(&listed));
    refused(std::slice::from_ref(&member));
    refused(&[listed.clone(), (4, "group.changed", json!({"group": "legal", "members": [DAN]}))]);
    refused(&[(3, "person.added", person(DAN, "auditor")), member.clone()]);
    refused(&[listed.clone(), member.clone(), (5, "group.changed", finance(&["eve@x.example"]))]);
    refused(&[listed.clone(), member.clone(), (5, "group.removed", json!({"group": "finance"}))]);
    refused(&[listed.clone(), member.clone(), (5, "person.removed", person(DAN, "operator"))]);
    refused(&[listed.clone(), member.clone(), (5, "person.changed", person(DAN, "auditor"))]);
    // The address was listed anew, perhaps for another human, who is in no group.
    refused(&[
        listed.clone(),
        member,
        (5, "person.removed", person(DAN, "operator")),
        (6, "person.added", person(DAN, "operator")),
    ]);
    // Dan came into the group long after the answer.
    let mut world = assigned();
    early(&mut world, 3, "person.added", person(DAN, "operator"));
    late(&mut world, DEADLINE + 10_000, "group.changed", finance(&[DAN]));
    found(&world, "answer_not_allowed", "assigned to other people");
}

/// Alice's answer, which counts.
fn counted(value: &str, given: u32) -> Value {
    json!({
        "suspension_id": Tale::Linked.question(), "person": ALICE, "value": value, "responded_by": ALICE,
        "responded_at": at(ASKED_AT + 50), "metadata": {}, "role": "operator", "assurance": "api_key", "credential": key(ALICE),
        "approvals": {"given": given, "needed": 2},
    })
}

/// Adds an event of the intent before the answer that ends the question.
fn before_the_answer(world: &mut World, actor: &str, at: u64, event_type: &str, payload: Value) {
    let place = world.place(Tale::Linked, RESUMED);
    world.happen(Tale::Linked, actor, at, event_type, payload);
    let event = world.events.pop().unwrap();
    world.events.insert(place, event);
}

/// A world in which Alice and Dan must agree, without Alice's answer.
fn quorum() -> World {
    let mut world = World::honest();
    let asked = world.payload(Tale::Linked, "intent.suspended");
    asked["assignees"] = json!({"people": [ALICE, DAN]});
    asked["quorum"] = json!({"required_approvals": 2, "required_refusals": 1, "refusing": ["deny"]});
    world.payload(Tale::Linked, RESUMED)["agreed"] =
        json!([{"person": ALICE, "at": at(ASKED_AT + 50)}, {"person": DAN, "at": at(ANSWERED_AT)}]);
    early(&mut world, 3, "person.added", person(DAN, "operator"));
    early(&mut world, 3, "person.added", person(ALICE, "operator"));
    world
}

fn agreed() -> World {
    let mut world = quorum();
    before_the_answer(&mut world, ALICE, ASKED_AT + 50, COUNTED, counted("approve", 1));
    world
}

#[test]
fn two_who_agree_are_enough() {
    verified(&agreed());
    let mut world = agreed();
    let taken =
        json!({"suspension_id": Tale::Linked.question(), "person": ALICE, "taken_back_by": ALICE, "credential": key(ALICE)});
    before_the_answer(&mut world, ALICE, ASKED_AT + 60, "intent.answer_taken_back", taken.clone());
    found(&world, "decision_differs", "does not have the effect");
    let again = Value::Object(counted("approve", 1).as_object().unwrap().clone());
    let mut world = agreed();
    before_the_answer(&mut world, ALICE, ASKED_AT + 60, "intent.answer_taken_back", taken);
    let mut later = again;
    later["responded_at"] = json!(at(ASKED_AT + 70));
    before_the_answer(&mut world, ALICE, ASKED_AT + 70, COUNTED, later);
    world.payload(Tale::Linked, RESUMED)["agreed"][0]["at"] = json!(at(ASKED_AT + 70));
    verified(&world);
}

#[test]
fn one_person_alone_is_found() {
    let nothing = "does not have the effect";
    found(&quorum(), "decision_differs", nothing);
    // Alice said something else.
    let mut world = quorum();
    world.payload(Tale::Linked, "intent.suspended")["quorum"]["required_refusals"] = json!(2);
    before_the_answer(&mut world, ALICE, ASKED_AT + 50, COUNTED, counted("deny", 1));
    found(&world, "decision_differs", nothing);
    // The log counts an answer that is enough as one that is not.
    let mut world = agreed();
    world.payload(Tale::Linked, "intent.suspended")["quorum"]["required_approvals"] = json!(1);
    found(&world, "decision_differs", "after which more people must agree");
    // The log counts one person as two.
    let mut world = agreed();
    world.payload(Tale::Linked, COUNTED)["approvals"]["given"] = json!(2);
    found(&world, "decision_differs", "approvals");
    // A person was removed before the last answer.
    let mut world = agreed();
    early(&mut world, 5, "person.removed", person(ALICE, "operator"));
    found(&world, "answer_not_allowed", "assigned to other people");
    // An answer in the name of another person.
    let mut world = agreed();
    world.payload(Tale::Linked, COUNTED)["person"] = json!(DAN);
    found(&world, "decision_differs", "person");
    // The list of those who agreed names another person.
    let mut world = agreed();
    world.payload(Tale::Linked, RESUMED)["agreed"][0]["person"] = json!("eve@x.example");
    found(&world, "decision_differs", "agreed");
}

/// If people have answered at the deadline, and not enough of them agree, no fallback applies.
#[test]
fn silence_after_an_answer_is_no_silence() {
    let answered = |value: &str| {
        let mut world = World::honest();
        let asked = world.payload(Tale::FellBack, "intent.suspended");
        asked["assignees"] = json!({"people": [ALICE, DAN]});
        asked["quorum"] = json!({"required_approvals": 2, "required_refusals": 2, "refusing": ["deny"]});
        early(&mut world, 3, "person.added", person(ALICE, "operator"));
        let mut counted = counted(value, 1);
        counted["suspension_id"] = json!(Tale::FellBack.question());
        world.happen(Tale::FellBack, ALICE, ASKED_AT + 50, COUNTED, counted);
        let event = world.events.pop().unwrap();
        let place = world.place(Tale::FellBack, "intent.suspension_expired");
        world.events.insert(place, event);
        world
    };
    for value in ["approve", "deny"] {
        let world = answered(value);
        let report = judge(&world);
        assert_eq!(report.verdict, Verdict::NotVerified, "{:?}", report.findings);
        let mut world = answered(value);
        let event = world.event(Tale::FellBack, "intent.suspension_expired");
        event.insert("event_type".into(), json!("intent.suspension_cancelled"));
        event.insert(
            "payload".into(),
            json!({
                "suspension_id": Tale::FellBack.question(), "resolution_reason": "quorum_unmet", "reason": null,
                "cancelled_by": "placet",
            }),
        );
        let place = world.place(Tale::FellBack, "intent.suspension_cancelled");
        world.events[place + 1]["payload"] = json!({
            "old_status": "suspended_awaiting_input", "new_status": "abandoned", "reason": "quorum_unmet",
            "abandonment_reason": "quorum_unmet",
        });
        verified(&world);
    }
}
