//! An answer by the link in a message counts if a report says that its message went to this person. The report may come after the answer.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;
#[expect(dead_code, reason = "other tests need the rest")]
mod world;

use serde_json::{Value, json};
use verify::report::{Report, Verdict};
use verify::{Options, Watchers, verify};
use world::{ASKED_AT, Tale, World, answer, at, id};

const RESUMED: &str = "intent.resumed";
const SENT: &str = "delivery.sent";
const FAILED: &str = "delivery.failed";
const BOUNCED: &str = "delivery.bounced";
const DAN: &str = "dan@x.example";
const MALLORY: &str = "mallory@evil.example";

fn judge(world: &World, selected: Option<&[usize]>) -> Report {
    let log = world.log();
    let options = Options::with_keys(vec![log.key.verifying().clone()]);
    verify("export", log.export(log.events.len(), selected).write().as_bytes(), &options, Watchers::default())
}

/// The decisions that are right in all respects, and the remarks on the others.
fn verified(report: &Report) -> (u64, Vec<(&'static str, Option<u64>)>) {
    assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
    let of_decisions = report.not_checkable.iter().filter(|remark| remark.code.starts_with("decisions"));
    (report.decisions, of_decisions.map(|remark| (remark.code, remark.count)).collect())
}

/// All decisions of the honest world.
fn honest() -> u64 {
    verified(&judge(&World::honest(), None)).0
}

/// The person is faster than the report about the message, which is the last event of the intent.
fn reported_late() -> World {
    let mut world = World::honest();
    let mut report = world.events.remove(world.place(Tale::Linked, SENT));
    report.insert("created_at".to_owned(), json!(at(ASKED_AT + 101)));
    world.events.insert(world.place(Tale::Linked, RESUMED) + 2, report);
    world
}

/// A log in which the message's report is missing.
fn unreported() -> World {
    let mut world = World::honest();
    world.events.remove(world.place(Tale::Linked, SENT));
    world
}

fn not_allowed(report: &Report, answer: u64) {
    found(report, answer, "by the link of a message that went to");
}

/// The answer with this number in its log is the one that is not allowed.
fn found(report: &Report, answer: u64, words: &str) {
    let found: Vec<_> = report.findings.iter().map(|finding| (finding.code.text(), finding.sequence)).collect();
    assert_eq!(found, [("answer_not_allowed", Some(answer))], "{:#?}", report.findings);
    assert!(report.findings[0].text.contains(words), "{:#?}", report.findings);
}

/// Adds an event to an intent, and moves it before the event of this type.
fn happen_before(world: &mut World, (tale, before): (Tale, &str), actor: &str, seconds: u64, event_type: &str, payload: Value) {
    world.happen(tale, actor, seconds, event_type, payload);
    let (event, place) = (world.events.pop().unwrap(), world.place(tale, before));
    world.events.insert(place, event);
}

/// The report about the message of the answer, with other words of the mail server.
fn bounced(world: &mut World) -> Value {
    let mut report = world.payload(Tale::Linked, SENT).clone();
    report["detail"] = json!("550 5.1.1 no mailbox");
    report
}

/// The message of an intent is given up, and no server took it as far as its sender knows.
fn given_up(mut world: World, tale: Tale) -> World {
    world.event(tale, SENT).insert("event_type".to_owned(), json!(FAILED));
    world.payload(tale, FAILED).as_object_mut().unwrap().remove("reached");
    world
}

/// A server writes the report after the provider has taken the message, and by then the person may have answered.
#[test]
fn a_report_after_the_answer_leaves_no_doubt() {
    assert_eq!(verified(&judge(&reported_late(), None)), (honest(), vec![]));
}

/// The contradiction is in the file: that it comes after the answer does not hide it.
#[test]
fn a_report_after_the_answer_that_contradicts_it_is_found() {
    for (member, other) in [("recipient", json!(MALLORY)), ("suspension_id", json!(Tale::Chosen.question()))] {
        let mut world = reported_late();
        world.payload(Tale::Linked, SENT)[member] = other;
        // The intent began, asked, and changed its status before.
        not_allowed(&judge(&world, None), 4);
    }
    let mut world = reported_late();
    answered_by(&mut world, MALLORY);
    not_allowed(&judge(&world, None), 4);
}

/// Lets another person have answered.
fn answered_by(world: &mut World, person: &str) {
    world.payload(Tale::Linked, RESUMED)["responded_by"] = json!(person);
    let place = world.place(Tale::Linked, RESUMED);
    for event in &mut world.events[place..place + 2] {
        event.insert("actor".to_owned(), json!(person));
    }
}

/// The holder of the log's key makes up a link. The log cannot show that it is false, and it is never accepted without a word.
#[test]
fn an_answer_by_a_link_without_a_report_is_not_checkable() {
    let doubtful = (honest() - 1, vec![("decisions_link", Some(1))]);
    for person in [DAN, MALLORY, "bot"] {
        let mut world = unreported();
        answered_by(&mut world, person);
        assert_eq!(verified(&judge(&world, None)), doubtful, "{person}");
    }
    let mut world = World::honest();
    answered_by(&mut world, MALLORY);
    world.payload(Tale::Linked, RESUMED)["credential"]["id"] = json!(id(0xeff));
    assert_eq!(verified(&judge(&world, None)), doubtful, "beside the report about a real message");
}

/// The message of a question of another intent is in the same file, whichever of the two intents is replayed first.
#[test]
fn the_link_of_a_message_about_another_intent_is_found() {
    for id in [id(0x9ff), id(0xa00 + Tale::FellBack as u64), id(0xfff)] {
        let mut world = World::honest();
        let intent = Tale::FellBack.intent();
        for event in world.events.iter_mut().filter(|event| event.get("intent_id") == Some(&json!(intent))) {
            event.insert("intent_id".to_owned(), json!(id));
            if event["payload"].get("intent_id").is_some() {
                event["payload"]["intent_id"] = json!(id);
            }
        }
        world.payload(Tale::Linked, RESUMED)["credential"]["id"] = json!(world::id(0xe00 + Tale::FellBack as u64));
        not_allowed(&judge(&world, None), 5);
    }
}

/// A selection or an erasure may take away the report. That is no sign of tampering, and the reason is named.
#[test]
fn a_report_that_was_left_out_or_erased_is_named_as_the_reason() {
    let world = reported_late();
    let report = world.place(Tale::Linked, SENT);
    let without: Vec<_> = (0..world.events.len()).filter(|place| *place != report).collect();
    assert_eq!(verified(&judge(&world, Some(&without))), (honest() - 1, vec![("decisions_link", Some(1))]), "no later event");

    let mut world = reported_late();
    let comment = json!({"text": "a comment behind the report"});
    world.happen(Tale::Linked, "bot", ASKED_AT + 102, "comment", comment);
    let without: Vec<_> = (0..world.events.len()).filter(|place| *place != report).collect();
    assert_eq!(verified(&judge(&world, Some(&without))), (honest() - 1, vec![("decisions_selection", Some(1))]));

    let world = reported_late();
    let mut log = world.log();
    log.erase(&mut forge::Chance::new(1), report, 900_000_000_000);
    let options = Options::with_keys(vec![log.key.verifying().clone()]);
    let report = verify("export", log.export(log.events.len(), None).write().as_bytes(), &options, Watchers::default());
    assert_eq!(verified(&report), (honest() - 1, vec![("decisions_erased", Some(1))]));
}

/// Each decision by one link waits for the same report.
#[test]
fn one_report_settles_all_decisions_by_its_link() {
    let claimed = |world: &mut World| {
        let credential = answer(Tale::Linked, ASKED_AT)["credential"].clone();
        let claim = json!({"suspension_id": Tale::Linked.question(), "person": DAN, "credential": credential});
        happen_before(world, (Tale::Linked, RESUMED), DAN, ASKED_AT + 50, "intent.claimed", claim);
    };
    let mut world = reported_late();
    claimed(&mut world);
    assert_eq!(verified(&judge(&world, None)), (honest() + 1, vec![]));
    let mut world = unreported();
    claimed(&mut world);
    assert_eq!(verified(&judge(&world, None)), (honest() - 1, vec![("decisions_link", Some(2))]));
    let mut world = reported_late();
    claimed(&mut world);
    world.payload(Tale::Linked, SENT)["recipient"] = json!(MALLORY);
    let found: Vec<_> = judge(&world, None).findings.iter().map(|finding| finding.code.text()).collect();
    assert_eq!(found, ["answer_not_allowed"; 2]);
}

/// People read what a verification does not show, although nothing is wrong.
#[test]
fn the_report_says_what_is_not_replayed() {
    let codes = |world: &World| -> Vec<_> {
        let report = judge(world, None);
        assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
        report.not_checkable.iter().map(|remark| (remark.code, remark.count)).collect()
    };
    let mut world = World::honest();
    let (presented, receipts) = (("presented", None), ("receipts", Some(1)));
    assert!(codes(&world).contains(&presented) && !codes(&world).contains(&receipts), "{:?}", codes(&world));
    world.happen(Tale::Chosen, "bot", ASKED_AT + 200, "receipt.consumed", Value::Null);
    assert!(codes(&world).contains(&presented) && codes(&world).contains(&receipts), "{:?}", codes(&world));
}

/// A link answers its question, and hands it on. Nothing else that a person decides is done by one.
#[test]
fn a_link_moves_no_deadline() {
    let mut world = World::honest();
    world.payload(Tale::Withdrawn, "intent.suspension_extended")["credential"] = json!({"kind": "email_link", "id": id(0xeff)});
    let report = judge(&world, None);
    let found: Vec<_> = report.findings.iter().map(|finding| finding.code.text()).collect();
    assert_eq!(found.first(), Some(&"change_not_allowed"), "{:#?}", report.findings);
}

/// An event in the name of the server needs no credential, so the holder of the log's key could write an approval in that name.
#[test]
fn the_server_approves_nothing() {
    for (name, assurance) in [("placet", "server"), ("local:0@host", "local")] {
        let mut world = World::honest();
        let granted = world.payload(Tale::Approved, "governance.approval_granted");
        (granted["responded_by"], granted["assurance"]) = (json!(name), json!(assurance));
        granted.as_object_mut().unwrap().remove("credential");
        let place = world.place(Tale::Approved, "governance.approval_granted");
        world.events[place].insert("actor".to_owned(), json!(name));
        let report = judge(&world, None);
        let is_silent = report.verdict == Verdict::Verified && report.decisions == honest();
        assert!(!is_silent, "{name}: {report:#?}");
    }
}

/// A message is sent, comes back, and is sent again. All these reports name its one question and its one recipient.
#[test]
fn many_reports_that_agree_leave_no_doubt() {
    let mut world = World::honest();
    let mut report = bounced(&mut world);
    happen_before(&mut world, (Tale::Linked, RESUMED), "placet", ASKED_AT + 6, BOUNCED, report.clone());
    happen_before(&mut world, (Tale::Linked, RESUMED), "placet", ASKED_AT + 7, SENT, report.clone());
    world.happen(Tale::Linked, "placet", ASKED_AT + 200, BOUNCED, report.clone());
    report.as_object_mut().unwrap().remove("reached");
    world.happen(Tale::Linked, "placet", ASKED_AT + 201, FAILED, report);
    assert_eq!(verified(&judge(&world, None)), (honest(), vec![]));
}

/// A message has one question and one recipient, so one of two such reports is forged, and no later report hides that.
#[test]
fn reports_that_contradict_each_other_are_found() {
    let words = "contradict each other";
    for (member, other) in [("recipient", json!(MALLORY)), ("suspension_id", json!(Tale::Chosen.question()))] {
        for event_type in [BOUNCED, SENT, FAILED] {
            let contradicting = |world: &mut World| {
                let mut report = bounced(world);
                report[member] = other.clone();
                report
            };
            // Before the answer, behind the report that is right, and before it.
            let mut world = World::honest();
            let report = contradicting(&mut world);
            happen_before(&mut world, (Tale::Linked, RESUMED), "placet", ASKED_AT + 6, event_type, report);
            found(&judge(&world, None), 6, words);
            let mut world = World::honest();
            let report = contradicting(&mut world);
            happen_before(&mut world, (Tale::Linked, SENT), "placet", ASKED_AT + 4, event_type, report);
            found(&judge(&world, None), 6, words);
            // After the answer, for which the first report had come before it, or after it.
            for (mut world, answer) in [(World::honest(), 5), (reported_late(), 4)] {
                let report = contradicting(&mut world);
                let right = bounced(&mut world);
                world.happen(Tale::Linked, "placet", ASKED_AT + 200, event_type, report);
                world.happen(Tale::Linked, "placet", ASKED_AT + 201, BOUNCED, right);
                found(&judge(&world, None), answer, words);
            }
        }
    }
}

/// A server that erases a long log in parts may record in between that a message came back. It does not know the recipient any more.
#[test]
fn a_report_whose_recipient_was_erased_contradicts_nothing() {
    let mut world = World::honest();
    let mut report = bounced(&mut world);
    report["recipient"] = json!("");
    world.happen(Tale::Linked, "placet", ASKED_AT + 200, BOUNCED, report.clone());
    assert_eq!(verified(&judge(&world, None)), (honest(), vec![]));
    let mut world = unreported();
    world.happen(Tale::Linked, "placet", ASKED_AT + 200, BOUNCED, report);
    assert_eq!(verified(&judge(&world, None)), (honest() - 1, vec![("decisions_erased", Some(1))]));
    // Nor does the server know in between who opens the link.
    let mut world = World::honest();
    refuse(&mut world, "", &id(0xe00 + Tale::Linked as u64));
    assert_eq!(verified(&judge(&world, None)), (honest(), vec![("decisions_erased", Some(1))]));
    // No server lets a question end by an answer of no person.
    let mut world = World::honest();
    world.payload(Tale::Linked, RESUMED)["responded_by"] = json!("");
    assert_ne!(judge(&world, None).verdict, Verdict::Verified);
}

/// The mail server took the message, and only its reply was lost. So the person has the link of a message that failed.
#[test]
fn the_report_of_a_message_that_failed_counts() {
    assert_eq!(verified(&judge(&given_up(World::honest(), Tale::Linked), None)), (honest(), vec![]));
    assert_eq!(verified(&judge(&given_up(reported_late(), Tale::Linked), None)), (honest(), vec![]));
    let mut world = given_up(World::honest(), Tale::Linked);
    world.payload(Tale::Linked, FAILED)["recipient"] = json!(MALLORY);
    not_allowed(&judge(&world, None), 5);
    let mut world = given_up(World::honest(), Tale::Linked);
    world.payload(Tale::Linked, FAILED).as_object_mut().unwrap().remove("recipient");
    assert_eq!(verified(&judge(&world, None)), (honest() - 1, vec![("decisions_unknown", Some(1))]), "an older form");

    // The log of another intent has the report.
    let mut world = World::honest();
    let mut report = given_up(World::honest(), Tale::Linked).payload(Tale::Linked, FAILED).clone();
    (report["delivery_id"], report["suspension_id"]) = (json!(id(0xeff)), json!(Tale::Chosen.question()));
    world.happen(Tale::Chosen, "placet", ASKED_AT + 200, FAILED, report);
    world.payload(Tale::Linked, RESUMED)["credential"]["id"] = json!(id(0xeff));
    not_allowed(&judge(&world, None), 5);
}

/// A message that failed reaches no person. That its report was erased is no reason to believe that one was reached.
#[test]
fn an_erased_report_of_a_failure_hides_no_wrong_fallback() {
    let world = given_up(World::honest(), Tale::FellBack);
    let place = world.place(Tale::FellBack, FAILED);
    for is_erased in [false, true] {
        let mut log = world.log();
        if is_erased {
            log.erase(&mut forge::Chance::new(1), place, 900_000_000_000);
        }
        let options = Options::with_keys(vec![log.key.verifying().clone()]);
        let report = verify("export", log.export(log.events.len(), None).write().as_bytes(), &options, Watchers::default());
        let found: Vec<_> = report.findings.iter().map(|finding| finding.code.text()).collect();
        assert_eq!(found.first(), Some(&"fallback_differs"), "{is_erased}: {:#?}", report.findings);
    }
}

/// Records that the answer by a link came after another answer.
fn refuse(world: &mut World, person: &str, message: &str) {
    let refused = refused(Tale::Linked, ("already_resolved", "deny"), person, message);
    world.happen(Tale::Linked, person, ASKED_AT + 200, "intent.response_rejected", refused);
}

fn refused(tale: Tale, (code, value): (&str, &str), person: &str, message: &str) -> Value {
    json!({
        "suspension_id": tale.question(), "code": code, "value": value, "value_omitted": false, "responded_by": person,
        "credential": {"kind": "email_link", "id": message},
    })
}

/// A refused answer decides nothing, but it says of a person what the person wanted.
#[test]
fn a_refused_answer_by_a_link_needs_a_report() {
    let (own, invented) = (id(0xe00 + Tale::Linked as u64), id(0xeff));
    let doubtful = (honest(), vec![("decisions_link", Some(1))]);
    for (message, expected) in [(&own, (honest() + 1, vec![])), (&invented, doubtful.clone())] {
        let mut world = World::honest();
        refuse(&mut world, DAN, message);
        assert_eq!(verified(&judge(&world, None)), expected, "{message}");
    }
    let mut world = World::honest();
    refuse(&mut world, MALLORY, &own);
    not_allowed(&judge(&world, None), 7);
    // After the deadline.
    let late = |message: &str| {
        let mut world = World::honest();
        let refused = refused(Tale::FellBack, ("expired", "deny"), DAN, message);
        world.happen(Tale::FellBack, DAN, world::DEADLINE + 1, "intent.late_answer", refused);
        verified(&judge(&world, None))
    };
    assert_eq!(late(&id(0xe00 + Tale::FellBack as u64)), (honest() + 1, vec![]));
    assert_eq!(late(&invented), doubtful);
    // While the question is open.
    let mut world = World::honest();
    let refused = refused(Tale::Linked, ("invalid_choice", "maybe"), DAN, &invented);
    let place = (Tale::Linked, RESUMED);
    happen_before(&mut world, place, DAN, ASKED_AT + 50, "intent.response_rejected", refused);
    assert_eq!(verified(&judge(&world, None)), doubtful);
}

/// That the words on the page are not checked is true of each answer, also of one about which something else is doubtful.
#[test]
fn a_log_of_doubtful_decisions_says_what_is_not_replayed() {
    let (mut world, linked) = (unreported(), json!(Tale::Linked.intent()));
    world.events.retain(|event| event.get("intent_id").is_none_or(|intent| *intent == linked));
    let report = judge(&world, None);
    assert_eq!(verified(&report), (0, vec![("decisions_link", Some(1))]));
    assert!(report.not_checkable.iter().any(|remark| remark.code == "presented"), "{:#?}", report.not_checkable);
    world.events.retain(|event| event.get("intent_id").is_none());
    let report = judge(&world, None);
    assert_eq!(verified(&report), (0, vec![]));
    assert!(report.not_checkable.iter().all(|remark| remark.code != "presented"), "{:#?}", report.not_checkable);
}
