//! Questions that are assigned to people, and those on which several people must agree: the answers that count, and those that the holder of
//! the log made up.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;
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
const TAKEN_BACK: &str = "intent.answer_taken_back";
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

/// When Dan answers, if Alice's answer lies long before.
const LATER: u64 = ASKED_AT + 1_000;

/// Has Dan's answer come later.
fn later(mut world: World) -> World {
    world.date(Tale::Linked, RESUMED, LATER);
    let answer = world.payload(Tale::Linked, RESUMED);
    (answer["responded_at"], answer["agreed"][1]["at"]) = (json!(at(LATER)), json!(at(LATER)));
    world
}

/// Has Dan's answer count, and not end the question: one person more is needed.
fn only_counted(mut world: World, given: u32) -> World {
    let place = world.place(Tale::Linked, RESUMED);
    world.events.remove(place + 1);
    let mut payload = world.payload(Tale::Linked, RESUMED).clone();
    payload.as_object_mut().unwrap().retain(|name, _| !["agreed", "choice_label"].contains(&name.as_str()));
    (payload["person"], payload["approvals"]) = (json!(DAN), json!({"given": given, "needed": given + 1}));
    world.events[place].insert("event_type".into(), json!(COUNTED));
    world.events[place].insert("payload".into(), payload);
    world
}

/// A world in which Alice and Dan must agree, and one of them must be in the group finance.
fn one_of_finance(members: &[&str]) -> World {
    let mut world = agreed();
    world.payload(Tale::Linked, "intent.suspended")["quorum"]["required_by_group"] = json!({"finance": 1});
    early(&mut world, 4, "group.changed", finance(members));
    later(world)
}

/// The clocks of two servers differ by up to 300 seconds, so a change and an answer may have come in either order.
#[test]
fn a_change_of_people_just_before_or_after_an_answer_counts_or_does_not() {
    type Change = fn(u64) -> World;
    let removed: Change = |distance| {
        let mut world = later(agreed());
        early(&mut world, LATER - distance, "person.removed", person(ALICE, "operator"));
        world
    };
    let left: Change = |distance| {
        let mut world = later(agreed());
        world.payload(Tale::Linked, "intent.suspended")["assignees"] = json!({"groups": ["finance"]});
        early(&mut world, 4, "group.changed", finance(&[ALICE, DAN]));
        early(&mut world, LATER - distance, "group.changed", finance(&[DAN]));
        world
    };
    let left_quorum: Change = |distance| {
        let mut world = one_of_finance(&[ALICE]);
        early(&mut world, LATER - distance, "group.removed", json!({"group": "finance"}));
        world
    };
    let joined_after: Change = |distance| {
        let mut world = one_of_finance(&["eve@x.example"]);
        late(&mut world, LATER + distance, "group.changed", finance(&[DAN]));
        world
    };
    for (change, given) in [(removed, 1), (left, 1), (left_quorum, 2), (joined_after, 2)] {
        for distance in 299..=301 {
            verified(&only_counted(change(distance), given));
            if distance <= 300 {
                verified(&change(distance));
            } else {
                found(&change(distance), "decision_differs", "does not have the effect");
            }
        }
    }
    let joined_before = |distance| {
        let mut world = one_of_finance(&["eve@x.example"]);
        early(&mut world, LATER - distance, "group.changed", finance(&[DAN]));
        world
    };
    for distance in 299..=301 {
        verified(&joined_before(distance));
        if distance <= 300 {
            verified(&only_counted(joined_before(distance), 2));
        } else {
            found(&only_counted(joined_before(distance), 2), "decision_differs", "after which more people must agree");
        }
    }
}

/// A later change does not count without the earlier one.
#[test]
fn changes_of_people_count_in_their_order() {
    let world = |[first, second]: [(&str, Value); 2]| {
        let mut world = one_of_finance(&["eve@x.example"]);
        early(&mut world, LATER - 20, first.0, first.1);
        early(&mut world, LATER - 10, second.0, second.1);
        world
    };
    let (removed, joined) = (("person.removed", person(ALICE, "operator")), ("group.changed", finance(&[DAN])));
    verified(&world([joined.clone(), removed.clone()]));
    found(&world([removed, joined]), "decision_differs", "does not have the effect");
}

fn remarks(world: &World, code: &str) -> u64 {
    let report = judge(world);
    assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.findings);
    report.not_checkable.iter().find(|remark| remark.code == code).and_then(|remark| remark.count).unwrap_or_default()
}

/// Adds an event about a group that cannot be read.
fn unreadable(mut world: World) -> World {
    early(&mut world, 5, "group.changed", json!({"group": 5}));
    world
}

/// Has Alice's role change just before the answer, and again just before the deadline.
fn changing(mut world: World) -> World {
    early(&mut world, ANSWERED_AT - 10, "person.changed", person(ALICE, "admin"));
    early(&mut world, DEADLINE - 100, "person.changed", person(ALICE, "operator"));
    world
}

/// An answer is right if people may have stood so that it is. The rest of the answer must be right in any case.
#[test]
fn other_faults_are_found_although_people_are_not_known() {
    assert_eq!(remarks(&unreadable(agreed()), "decisions_people"), 2);
    verified(&changing(agreed()));
    // Alice was perhaps removed, or no member of finance agreed.
    assert_eq!(remarks(&unreadable(only_counted(agreed(), 1)), "decisions_people"), 2);
    assert_eq!(remarks(&unreadable(only_counted(one_of_finance(&[DAN]), 2)), "decisions_people"), 2);
    found(&unreadable(only_counted(agreed(), 2)), "decision_differs", "after which more people must agree");
    let forged = |code, words, forge: fn(&mut World)| {
        for unsure in [unreadable, changing] {
            let mut world = unsure(agreed());
            forge(&mut world);
            found(&world, code, words);
        }
    };
    forged("answer_late", "after the deadline", |world| {
        world.date(Tale::Linked, RESUMED, DEADLINE + 1);
        world.payload(Tale::Linked, RESUMED)["responded_at"] = json!(at(DEADLINE + 1));
    });
    forged("answer_invalid", "names a choice", |world| world.payload(Tale::Linked, RESUMED)["value"] = json!("refund"));
    forged("decision_differs", "choice_label", |world| world.payload(Tale::Linked, RESUMED)["choice_label"] = json!("Deny"));
    forged("decision_differs", "role", |world| world.payload(Tale::Linked, COUNTED)["role"] = json!("admin"));
    forged("decision_differs", "", |world| {
        world.payload(Tale::Linked, RESUMED)["agreed"][0]["person"] = json!("eve@x.example");
    });
    forged("decision_differs", "approvals", |world| world.payload(Tale::Linked, COUNTED)["approvals"]["given"] = json!(2));
    forged("answer_not_allowed", "assigned to other people", |world| {
        world.payload(Tale::Linked, "intent.suspended")["assignees"] = json!({"people": [ALICE]});
    });
    for unsure in [unreadable, changing] {
        found(&unsure(quorum()), "decision_differs", "does not have the effect");
    }
}

/// A forged log must not make the verifier work without end, and an honest one is not accused.
#[test]
fn people_who_change_very_often_are_not_known() {
    let world = |changes: usize| {
        let mut world = agreed();
        for role in ["admin", "operator"].into_iter().cycle().take(changes) {
            early(&mut world, ANSWERED_AT, "person.changed", person(ALICE, role));
        }
        world
    };
    verified(&world(90));
    assert_eq!(remarks(&world(110), "decisions_people"), 2);
}

/// A key of the asker's owner whose subject is Alice.
fn alices_key() -> Value {
    json!({"key_id": id(0xc50), "name": "alices-other", "role": "agent", "subject": "Alice", "owner": "team-a"})
}

/// An admin may make a key of the asker's owner for a person who had answered before.
#[test]
fn an_answer_is_the_askers_own_only_if_the_key_was_there() {
    let mut world = agreed();
    early(&mut world, 3, "key.created", alices_key());
    found(&world, "answer_not_allowed", "the asker's own");
    for (distance, doubts) in [(299, 1), (300, 1), (301, 0), (10_000_000, 0)] {
        let mut world = agreed();
        late(&mut world, ASKED_AT + 50 + distance, "key.created", alices_key());
        assert_eq!(remarks(&world, "decisions_owner"), doubts, "{distance}");
    }
}

#[test]
fn a_key_that_cannot_be_read_may_be_the_one_of_a_person_who_agreed() {
    let doubts = |mut world: World| {
        early(&mut world, 3, "key.created", json!({"name": 5}));
        remarks(&world, "decisions_owner")
    };
    // Both answers of those who agreed are in doubt.
    assert_eq!(doubts(agreed()), doubts(World::honest()) + 2);
}

fn taken_by(credential: &Value, (actor, person): (&str, &str), tale: Tale) -> Value {
    json!({"suspension_id": tale.question(), "person": person, "taken_back_by": actor, "credential": credential})
}

/// Adds an event of the intent whose question falls back before that happens.
fn before_the_fallback(world: &mut World, at: u64, event_type: &str, payload: Value) {
    world.happen(Tale::FellBack, ALICE, at, event_type, payload);
    let event = world.events.pop().unwrap();
    let place = world.place(Tale::FellBack, "intent.suspension_expired");
    world.events.insert(place, event);
}

/// Otherwise the holder of the log's key could make a refusal one that was taken back, so that the fallback applies.
#[test]
fn no_answer_is_taken_back_after_the_deadline() {
    let taken_at = |at: u64, before: Option<u64>| {
        let mut world = World::honest();
        let asked = world.payload(Tale::FellBack, "intent.suspended");
        asked["assignees"] = json!({"people": [ALICE, DAN]});
        asked["quorum"] = json!({"required_approvals": 2, "required_refusals": 2, "refusing": ["deny"]});
        early(&mut world, 3, "person.added", person(ALICE, "operator"));
        let mut counted = counted("deny", 1);
        counted["suspension_id"] = json!(Tale::FellBack.question());
        before_the_fallback(&mut world, ASKED_AT + 50, COUNTED, counted);
        if let Some(before) = before {
            before_the_fallback(&mut world, before, "comment", json!({"text": "a note"}));
        }
        before_the_fallback(&mut world, at, TAKEN_BACK, taken_by(&key(ALICE), (ALICE, ALICE), Tale::FellBack));
        world.date(Tale::FellBack, "intent.suspension_expired", at.max(DEADLINE) + 1);
        world
    };
    verified(&taken_at(DEADLINE - 1, None));
    for late in [DEADLINE, DEADLINE + 1] {
        found(&taken_at(late, None), "answer_late", "took an answer back");
    }
    // The clock was set back, and the event does not say which time it showed.
    assert_eq!(remarks(&taken_at(DEADLINE + 1, Some(DEADLINE + 1)), "decisions_clock"), 1);
}

#[test]
fn an_answer_is_taken_back_by_the_same_person_and_the_link_of_the_same_question() {
    let world = |link: u64| {
        let mut world = only_counted(agreed(), 2);
        world.payload(Tale::Linked, "intent.suspended")["quorum"]["required_approvals"] = json!(3);
        for event in &mut world.events {
            if event["event_type"] == COUNTED {
                event["payload"]["approvals"]["needed"] = json!(3);
            }
        }
        let mut sent = world.payload(Tale::Linked, "delivery.sent").clone();
        (sent["delivery_id"], sent["recipient"]) = (json!(id(0xe99)), json!("mallory@x.example"));
        world.happen(Tale::Linked, "placet", LATER, "delivery.sent", sent);
        let credential = json!({"kind": "email_link", "id": id(link)});
        world.happen(Tale::Linked, DAN, LATER + 1, TAKEN_BACK, taken_by(&credential, (DAN, DAN), Tale::Linked));
        world
    };
    let own = 0xe00 + Tale::Linked as u64;
    verified(&world(own));
    found(&world(0xe99), "answer_not_allowed", "link of a message");
    for (member, name) in [("person", ALICE), ("taken_back_by", ALICE)] {
        let mut world = world(own);
        world.payload(Tale::Linked, TAKEN_BACK)[member] = json!(name);
        found(&world, "decision_differs", "another person had given");
    }
    let mut other = world(own);
    other.payload(Tale::Linked, TAKEN_BACK)["person"] = json!("eve@x.example");
    found(&other, "decision_differs", "was not counted");
}

/// The answer lacks its signature, and the event that takes it back needs none.
#[test]
fn an_answer_is_taken_back_without_a_passkey() {
    let mut world = quorum();
    world.payload(Tale::Linked, "intent.suspended")["required_assurance"] = json!("passkey");
    before_the_answer(&mut world, ALICE, ASKED_AT + 50, COUNTED, counted("approve", 1));
    before_the_answer(&mut world, ALICE, ASKED_AT + 60, TAKEN_BACK, taken_by(&key(ALICE), (ALICE, ALICE), Tale::Linked));
    let place = world.place(Tale::Linked, RESUMED);
    world.events.drain(place..place + 2);
    let codes: Vec<&str> = judge(&world).findings.iter().map(|finding| finding.code.text()).collect();
    assert_eq!(codes, ["passkey_missing"]);
}

/// A tied gateway acts under its own name for the person that it names.
#[test]
fn a_gateway_takes_back_an_answer_that_came_through_it() {
    let world = |known: Value| {
        let pager = json!({"kind": "api_key", "id": id(0xc60)});
        let mut world = quorum();
        early(&mut world, 3, "key.created", known);
        let mut counted = counted("approve", 1);
        (counted["role"], counted["credential"]) = (json!("channel"), pager.clone());
        before_the_answer(&mut world, "pager", ASKED_AT + 50, COUNTED, counted);
        let taken = taken_by(&pager, ("pager", ALICE), Tale::Linked);
        before_the_answer(&mut world, "pager", ASKED_AT + 60, TAKEN_BACK, taken);
        only_counted(world, 1)
    };
    let known =
        json!({"key_id": id(0xc60), "name": "pager", "role": "channel", "subject": "pager", "owner": "ops", "for": ["pager"]});
    assert_eq!(remarks(&world(known.clone()), "decisions_gateway"), 2);
    // The key of the gateway is not known.
    assert_eq!(remarks(&world(json!({"name": 5})), "decisions_credential"), 2);
    let mut world = world(known);
    world.payload(Tale::Linked, TAKEN_BACK)["person"] = json!(DAN);
    found(&world, "decision_differs", "was not counted");
}

const DELEGATED: &str = "intent.delegated";

/// Alice's place goes to Dan.
fn handed_on() -> Value {
    json!({"suspension_id": Tale::Linked.question(), "place": ALICE, "from": ALICE, "to": DAN, "credential": key(ALICE)})
}

/// A world in which the question is Alice's, and both she and Dan are listed.
fn of_alice() -> World {
    let mut world = World::honest();
    world.payload(Tale::Linked, "intent.suspended")["assignees"] = json!({"people": [ALICE]});
    for (at, address) in [(3, DAN), (4, ALICE)] {
        early(&mut world, at, "person.added", person(address, "operator"));
    }
    world
}

/// A world in which Dan answers in Alice's place.
fn in_place_of_alice() -> World {
    let mut world = of_alice();
    before_the_answer(&mut world, ALICE, ASKED_AT + 50, DELEGATED, handed_on());
    world.payload(Tale::Linked, RESUMED)["in_place_of"] = json!(ALICE);
    world
}

#[test]
fn an_answer_in_the_place_of_another_is_right() {
    verified(&in_place_of_alice());
}

#[test]
fn a_place_that_no_person_handed_on_is_found() {
    found(&of_alice(), "answer_not_allowed", "assigned to other people");
    let mut unsaid = in_place_of_alice();
    unsaid.payload(Tale::Linked, RESUMED).as_object_mut().unwrap().remove("in_place_of");
    found(&unsaid, "decision_differs", "in_place_of");
    for (member, name) in [("from", DAN), ("place", DAN), ("to", ALICE)] {
        let mut world = in_place_of_alice();
        world.payload(Tale::Linked, DELEGATED)[member] = json!(name);
        let report = judge(&world);
        assert_eq!(report.verdict, Verdict::NotVerified, "{member}");
    }
    // Dan was not listed, or was an auditor; Alice was removed after she had handed the place on.
    let cases = [
        (DAN, 5, "person.removed", "operator", "change_not_allowed"),
        (DAN, 5, "person.changed", "auditor", "change_not_allowed"),
        (ALICE, 5, "person.removed", "operator", "change_not_allowed"),
    ];
    for (address, at, event_type, role, code) in cases {
        let mut world = in_place_of_alice();
        early(&mut world, at, event_type, person(address, role));
        found(&world, code, "");
    }
}

#[test]
fn a_claim_of_an_outsider_and_a_wider_reassignment_are_found() {
    let claim = json!({"suspension_id": Tale::Linked.question(), "person": ALICE, "credential": key(ALICE)});
    let mut world = in_place_of_alice();
    let place = world.place(Tale::Linked, DELEGATED);
    before_the_answer(&mut world, ALICE, ASKED_AT + 40, "intent.claimed", claim.clone());
    let claimed = world.place(Tale::Linked, "intent.claimed");
    world.events.swap(place, claimed);
    verified(&world);
    let mut world = in_place_of_alice();
    before_the_answer(&mut world, ALICE, ASKED_AT + 60, "intent.claimed", claim);
    found(&world, "change_not_allowed", "assigned to other people");
    let mut world = of_alice();
    let wider = json!({
        "suspension_id": Tale::Linked.question(), "assignees": {"people": [DAN]}, "before": {"people": [ALICE]}, "notify_to": [DAN],
        "reassigned_by": ALICE, "credential": key(ALICE),
    });
    before_the_answer(&mut world, ALICE, ASKED_AT + 50, "intent.reassigned", wider);
    found(&world, "change_not_allowed", "an admin can assign the question to others");
}

/// An address that was removed and listed again is another person, whose answer it was not.
#[test]
fn an_answer_of_the_person_who_had_the_address_before_is_found() {
    let mut world = later(agreed());
    early(&mut world, ASKED_AT + 400, "person.removed", person(ALICE, "operator"));
    early(&mut world, ASKED_AT + 401, "person.added", person(ALICE, "operator"));
    found(&world, "decision_differs", "does not have the effect");
}

/// Alice's place goes to Dan by the server, because she is out of office.
fn stood_in(via: &[&str]) -> World {
    let mut world = of_alice();
    let mut handed = handed_on();
    handed.as_object_mut().unwrap().remove("credential");
    (handed["out_of_office"], world.payload(Tale::Linked, RESUMED)["in_place_of"]) = (json!(true), json!(ALICE));
    if !via.is_empty() {
        handed["via"] = json!(via);
    }
    before_the_answer(&mut world, "placet", ASKED_AT + 50, DELEGATED, handed);
    world
}

fn away(world: &mut World, at_second: u64, address: &str, deputy: &str, until: u64) {
    let (person_id, deputy_id) = (id(0xf00), id(0xf01));
    let payload = json!({"person_id": person_id, "address": address, "from": at(5), "until": at(until), "deputy_id": deputy_id, "deputy": deputy});
    early(world, at_second, "person.away", payload);
}

#[test]
fn a_deputy_takes_a_place_while_its_person_is_out_of_office() {
    let mut world = stood_in(&[]);
    away(&mut world, 5, ALICE, DAN, DEADLINE + 1_000);
    verified(&world);
    let mut world = stood_in(&["cleo"]);
    away(&mut world, 5, ALICE, "cleo", DEADLINE + 1_000);
    away(&mut world, 6, "cleo", DAN, DEADLINE + 1_000);
    verified(&world);
    // A person hands a place on, and says that the server did it.
    let mut world = stood_in(&[]);
    away(&mut world, 5, ALICE, DAN, DEADLINE + 1_000);
    let place = world.place(Tale::Linked, DELEGATED);
    world.events[place].insert("actor".to_owned(), json!(ALICE));
    assert_eq!(judge(&world).verdict, Verdict::NotVerified);
}

#[test]
fn a_deputy_whom_no_person_named_is_found() {
    found(&stood_in(&[]), "change_not_allowed", "no deputy");
    let mut world = stood_in(&[]);
    away(&mut world, 5, ALICE, "cleo", DEADLINE + 1_000);
    found(&world, "change_not_allowed", "no deputy");
    let mut world = stood_in(&[]);
    away(&mut world, 5, ALICE, DAN, 7);
    found(&world, "change_not_allowed", "no deputy");
    let mut world = stood_in(&[]);
    away(&mut world, 5, ALICE, DAN, DEADLINE + 1_000);
    early(&mut world, 6, "person.back", json!({"person_id": id(0xf00), "address": ALICE}));
    found(&world, "change_not_allowed", "no deputy");
    let mut world = stood_in(&[]);
    for (person, deputy) in [(ALICE, DAN), (DAN, "cleo")] {
        away(&mut world, 5, person, deputy, DEADLINE + 1_000);
    }
    found(&world, "change_not_allowed", "out of office as well");
    found(&stood_in(&["cleo", "eve", "cleo"]), "change_not_allowed", "the same person twice");
    found(&stood_in(&["a", "b", "c", "d", "e"]), "change_not_allowed", "more than the server asks");
}
