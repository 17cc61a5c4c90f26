//! Decisions that no server makes are found although their log was chained and signed anew, and honest ones are not.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;
mod world;

use serde_json::{Value, json};
use verify::report::{Report, Verdict};
use verify::{Options, Watchers, verify};
use world::{ASKED_AT, DEADLINE, Tale, World, answer, at, id, key};

/// The decisions of the honest world.
const DECISIONS: u64 = 13;

fn judge(world: &World, selected: Option<&[usize]>) -> Report {
    let log = world.log();
    let options = Options::with_keys(vec![log.key.verifying().clone()]);
    let export = log.export(log.events.len(), selected);
    verify("export", export.write().as_bytes(), &options, Watchers::default())
}

fn remarks(report: &Report) -> Vec<(&'static str, Option<u64>)> {
    let of_decisions = report.not_checkable.iter().filter(|remark| remark.code.starts_with("decisions"));
    of_decisions.map(|remark| (remark.code, remark.count)).collect()
}

/// The types of the events that are forged most.
const RESUMED: &str = "intent.resumed";
const EXPIRED: &str = "intent.suspension_expired";
const CANCELLED: &str = "intent.suspension_cancelled";
const EXTENDED: &str = "intent.suspension_extended";
const RENOTIFIED: &str = "intent.suspension_renotified";
const STATUS: &str = "status_changed";

type Forge = fn(&mut World);
/// A name, the expected code, words of the finding, and the forgery.
type Case = (&'static str, &'static str, &'static str, Forge);

/// Lets another key answer.
fn answered_by(world: &mut World, name: &str, role: &str) {
    let answer = world.payload(Tale::Chosen, RESUMED);
    (answer["responded_by"], answer["credential"], answer["role"]) = (json!(name), key(name), json!(role));
    for event_type in [RESUMED, STATUS] {
        let place = world.place(Tale::Chosen, event_type);
        world.events[place].insert("actor".to_owned(), json!(name));
    }
}

const ANSWERS: &[Case] = &[
    ("a choice that does not exist", "answer_invalid", "\"refund\" names a choice that the question did not have", |world| {
        world.payload(Tale::Chosen, RESUMED)["value"] = json!("refund");
    }),
    ("a value of a wrong type", "answer_invalid", "not of the kind", |world| {
        world.payload(Tale::Written, RESUMED)["value"] = json!(true);
    }),
    ("an empty text", "answer_invalid", "not of the kind", |world| world.payload(Tale::Written, RESUMED)["value"] = json!("")),
    ("an answer after the deadline", "answer_late", "after the deadline", |world| {
        world.date(Tale::Chosen, RESUMED, DEADLINE + 1);
        world.payload(Tale::Chosen, RESUMED)["responded_at"] = json!(at(DEADLINE + 1));
    }),
    ("an answer at the deadline", "answer_late", "after the deadline", |world| {
        world.date(Tale::Chosen, RESUMED, DEADLINE);
        world.payload(Tale::Chosen, RESUMED)["responded_at"] = json!(at(DEADLINE));
    }),
    ("an answer that is dated back", "decision_differs", "another time", |world| {
        world.date(Tale::Chosen, RESUMED, DEADLINE + 1);
    }),
    ("an answer by the agent that asked", "answer_not_allowed", "the answer is the asker's own", |world| {
        answered_by(world, "bot", "agent");
    }),
    ("an answer by a key of the agent's owner", "answer_not_allowed", "the answer is the asker's own", |world| {
        answered_by(world, "sibling", "operator");
    }),
    ("an answer by another agent", "answer_not_allowed", "the asker's own", |world| answered_by(world, "other-bot", "agent")),
    ("an answer by an auditor", "answer_not_allowed", "role auditor", |world| answered_by(world, "carol", "auditor")),
    ("an answer by an admin", "answer_not_allowed", "role admin", |world| answered_by(world, "root", "admin")),
    ("an answer with a revoked key", "unknown_credential", "had been revoked", |world| answered_by(world, "gone", "operator")),
    ("a role that the key does not have", "decision_differs", "another role", |world| {
        answered_by(world, "sibling", "admin");
        world.payload(Tale::Chosen, "intent.suspended")["asked_by"] = json!("other-bot");
        let place = world.place(Tale::Chosen, "intent_created");
        world.events[place].insert("actor".to_owned(), json!("other-bot"));
    }),
    ("an answer with a key that does not exist", "unknown_credential", "does not know", |world| {
        world.payload(Tale::Chosen, RESUMED)["credential"]["id"] = json!(id(0xfff));
    }),
    ("an answer with the key of another", "unknown_credential", "whose name is", |world| {
        world.payload(Tale::Chosen, RESUMED)["credential"] = key("root");
    }),
    ("an answer in the name of another", "decision_differs", "another responded_by", |world| {
        world.payload(Tale::Chosen, RESUMED)["responded_by"] = json!("root");
    }),
    ("an answer by the link of another question", "answer_not_allowed", "link of a message", |world| {
        let mut other = world.payload(Tale::Linked, "delivery.sent").clone();
        other["recipient"] = json!("mallory@x.example");
        *world.payload(Tale::Linked, "delivery.sent") = other;
    }),
    ("a label that the choice does not have", "decision_differs", "another choice_label", |world| {
        world.payload(Tale::Chosen, RESUMED)["choice_label"] = json!("Deny");
    }),
    ("two answers to one question", "already_ended", "a question ends once", |world| {
        world.happen(Tale::Chosen, "alice", ASKED_AT + 200, RESUMED, answer(Tale::Chosen, ASKED_AT + 200));
    }),
    ("an answer to a question of another intent", "unknown_question", "never asked", |world| {
        world.payload(Tale::Chosen, RESUMED)["suspension_id"] = json!(Tale::Written.question());
    }),
    ("a granted approval that denies", "decision_differs", "", |world| {
        let granted = world.payload(Tale::Approved, "governance.approval_granted");
        (granted["value"], granted["choice_label"]) = (json!("deny"), json!("Deny"));
    }),
    ("an answer in time that is refused", "refused_in_time", "the server left out an answer", |world| {
        let place = world.place(Tale::Approved, "governance.approval_granted");
        world.events.remove(place);
    }),
];

const SILENCE: &[Case] = &[
    ("an expiry before the deadline", "expired_early", "people had time until", |world| {
        world.date(Tale::FellBack, EXPIRED, DEADLINE - 1);
    }),
    ("a fallback value that the question does not name", "fallback_differs", "another fallback_value", |world| {
        world.payload(Tale::FellBack, EXPIRED)["fallback_value"] = json!("approve");
    }),
    ("a fallback although the policy is to fail", "fallback_differs", "which is fail", |world| {
        let asked = world.payload(Tale::FellBack, "intent.suspended");
        (asked["fallback_policy"], asked["fallback_value"]) = (json!("fail"), Value::Null);
    }),
    ("a fallback of another policy", "fallback_differs", "another fallback_policy", |world| {
        world.payload(Tale::FellBack, EXPIRED)["fallback_policy"] = json!("use_default_and_continue");
    }),
    ("an expiry of a question without a deadline", "expired_early", "had no deadline", |world| {
        world.payload(Tale::FellBack, "intent.suspended")["expires_at"] = Value::Null;
    }),
    ("silence that is taken for no delivery", "fallback_differs", "one was reached", |world| {
        let (place, tale) = (world.place(Tale::FellBack, EXPIRED), Tale::FellBack);
        world.happen(tale, "placet", DEADLINE, "intent.suspension_undeliverable", json!({"suspension_id": tale.question()}));
        let undeliverable = world.events.pop().unwrap();
        world.events.insert(place, undeliverable);
    }),
    ("an intent that goes on although its question failed", "decision_differs", "did not have the effect", |world| {
        let place = world.place(Tale::Unreached, EXPIRED) + 1;
        world.events[place]["payload"] =
            json!({"old_status": "suspended_awaiting_input", "new_status": "active", "reason": "fallback_applied"});
    }),
    ("an agent that lifts its own suspension", "question_open", "its question was open", |world| {
        let place = world.place(Tale::Chosen, RESUMED);
        world.events.remove(place);
    }),
    ("an attempt before it is due", "attempt_differs", "no attempt at this time", |world| {
        world.date(Tale::Unreached, RENOTIFIED, ASKED_AT + 1_799);
    }),
    ("an attempt that asks other people", "attempt_differs", "the notify_to is another one", |world| {
        world.payload(Tale::Unreached, RENOTIFIED)["notify_to"] = json!(["mallory@x.example"]);
    }),
    ("an escalation to other people", "decision_differs", "did not have the effect", |world| {
        world.payload(Tale::Unreached, "intent.suspension_escalated")["escalated_to"] = json!(["mallory@x.example"]);
    }),
];

const CHANGES: &[Case] = &[
    ("a withdrawal by another agent", "change_not_allowed", "withdrew the question of another", |world| {
        let cancelled = world.payload(Tale::Withdrawn, CANCELLED);
        (cancelled["cancelled_by"], cancelled["credential"]) = (json!("other-bot"), key("other-bot"));
        world.event(Tale::Withdrawn, CANCELLED).insert("actor".to_owned(), json!("other-bot"));
    }),
    ("a withdrawal after the deadline", "change_late", "after its deadline", |world| {
        world.date(Tale::Withdrawn, CANCELLED, DEADLINE + 600);
    }),
    ("a deadline that the agent moves", "change_not_allowed", "moved the deadline", |world| {
        let extended = world.payload(Tale::Withdrawn, EXTENDED);
        (extended["extended_by"], extended["credential"]) = (json!("bot"), key("bot"));
        world.event(Tale::Withdrawn, EXTENDED).insert("actor".to_owned(), json!("bot"));
    }),
    ("a deadline that is moved to an earlier time", "decision_differs", "must be later", |world| {
        world.payload(Tale::Withdrawn, EXTENDED)["new_expires_at"] = json!(at(DEADLINE - 10));
    }),
    ("another deadline before the change", "decision_differs", "another old_expires_at", |world| {
        world.payload(Tale::Withdrawn, EXTENDED)["old_expires_at"] = json!(at(DEADLINE - 10));
    }),
    ("lost time although the deadline can be moved", "decision_differs", "lost time", |world| {
        let cancelled = world.payload(Tale::Withdrawn, CANCELLED);
        (cancelled["cancelled_by"], cancelled["resolution_reason"]) = (json!("placet"), json!("time_lost"));
        cancelled.as_object_mut().unwrap().remove("credential");
        world.event(Tale::Withdrawn, CANCELLED).insert("actor".to_owned(), json!("placet"));
    }),
    ("a question that is replaced by none", "decision_differs", "did not have the effect", |world| {
        world.payload(Tale::Withdrawn, CANCELLED)["resolution_reason"] = json!("superseded");
    }),
    ("a second question while one is open", "question_open", "another one was open", |world| {
        let place = world.place(Tale::Replaced, CANCELLED);
        world.events.remove(place);
    }),
];

#[test]
fn an_honest_log_is_replayed_whole() {
    let report = judge(&World::honest(), None);
    assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
    assert_eq!((report.decisions, remarks(&report)), (DECISIONS, vec![]));
}

#[test]
fn a_form_may_be_answered_with_null() {
    let mut world = World::honest();
    world.payload(Tale::Written, "intent.suspended")["response_type"] = json!("form");
    world.payload(Tale::Written, RESUMED)["value"] = Value::Null;
    let report = judge(&world, None);
    assert_eq!((report.verdict, report.decisions), (Verdict::Verified, DECISIONS), "{:#?}", report.findings);
}

/// The holder of a log can chain and sign everything anew. If one of these is not found, the holder can make up a person's yes.
#[test]
fn every_kind_of_forged_decision_is_found_for_the_right_reason() {
    let cases: Vec<_> = [ANSWERS, SILENCE, CHANGES].concat();
    assert!(cases.len() >= 40);
    let mut wrong = Vec::new();
    for (name, code, words, forge) in cases {
        let mut world = World::honest();
        forge(&mut world);
        let report = judge(&world, None);
        let first = report.findings.first().map(|finding| (finding.code.text(), finding.text.as_str()));
        if first.is_none_or(|(found, text)| found != code || !text.contains(words)) {
            wrong.push(format!("{name}: {first:?} instead of {code} with {words:?}"));
        }
    }
    assert_eq!(wrong, [""; 0]);
}

/// A log of an older server, an erased question or a selection is no sign of tampering.
#[test]
fn decisions_that_cannot_be_replayed_are_counted_and_never_found() {
    let mut world = World::honest();
    world.payload(Tale::Chosen, RESUMED).as_object_mut().unwrap().remove("credential");
    let report = judge(&world, None);
    assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
    assert_eq!((report.decisions, remarks(&report)), (DECISIONS - 1, vec![("decisions_credential", Some(1))]));

    // Neither the agent nor the person is known. That they have one owner is possible, and no reason to accuse the server.
    let mut world = World::honest();
    world.events.retain(|event| event.get("log").is_none());
    for event in &mut world.events {
        event["payload"].as_object_mut().unwrap().remove("credential");
    }
    let report = judge(&world, None);
    assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
    assert!(remarks(&report).contains(&("decisions_credential", Some(8))), "{:?}", remarks(&report));

    let mut world = World::honest();
    world.payload(Tale::Chosen, RESUMED)["role"] = json!("oracle");
    let report = judge(&world, None);
    assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
    assert_eq!((report.decisions, remarks(&report)), (DECISIONS - 1, vec![("decisions_unknown", Some(1))]));

    let world = World::honest();
    let without: Vec<_> =
        (0..world.events.len()).filter(|place| world.events[*place]["event_type"] != "intent.suspended").collect();
    let report = judge(&world, Some(&without));
    assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
    assert_eq!((report.decisions, remarks(&report)), (2, vec![("decisions_selection", Some(DECISIONS - 2))]));
}

#[test]
fn a_decision_about_an_erased_question_is_not_checkable() {
    let world = World::honest();
    let mut log = world.log();
    let place = world.place(Tale::Chosen, "intent.suspended");
    log.erase(&mut forge::Chance::new(1), place, 900_000_000_000);
    let options = Options::with_keys(vec![log.key.verifying().clone()]);
    let report = verify("export", log.export(log.events.len(), None).write().as_bytes(), &options, Watchers::default());
    assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
    assert_eq!((report.decisions, remarks(&report)), (DECISIONS - 1, vec![("decisions_erased", Some(1))]));
}

/// The clock of a server may be set back: events then have the time of the event before them, and answers say the clock's time.
#[test]
fn an_answer_after_the_clock_was_set_back_is_no_forgery() {
    let mut world = World::honest();
    world.payload(Tale::Chosen, RESUMED)["responded_at"] = json!(at(ASKED_AT - 50));
    world.date(Tale::Chosen, RESUMED, ASKED_AT);
    world.date(Tale::Withdrawn, EXTENDED, DEADLINE + 30);
    world.date(Tale::Withdrawn, CANCELLED, DEADLINE + 30);
    let place = world.place(Tale::Withdrawn, EXTENDED);
    let note = json!({"text": "a note of a time when the clock was ahead"});
    world.happen(Tale::Withdrawn, "bot", DEADLINE + 30, "comment", note);
    let note = world.events.pop().unwrap();
    world.events.insert(place, note);
    let report = judge(&world, None);
    assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
}

/// A server that was away while the question's own deadline passed, and then that of the portfolio, gives the question its time back.
/// The portfolio's deadline ends it all the same, and no fallback applies.
#[test]
fn the_later_deadline_of_a_portfolio_ends_a_question_after_an_absence() {
    let portfolio = id(0xe01);
    let ended_at = |portfolio_ends: u64, fails: bool| {
        let mut world = World::honest();
        if fails {
            let asked = world.payload(Tale::FellBack, "intent.suspended");
            (asked["fallback_policy"], asked["fallback_value"]) = (json!("fail"), Value::Null);
            world.payload(Tale::FellBack, EXPIRED)["fallback_policy"] = json!("fail");
        }
        let added = json!({"portfolio_id": portfolio, "role": "member", "priority": 0, "id": id(0xe02)});
        world.happen(Tale::FellBack, "bot", ASKED_AT, "added_to_portfolio", added);
        let (added, place) = (world.events.pop().unwrap(), world.place(Tale::FellBack, "intent.suspended"));
        world.events.insert(place, added);
        let expired = world.payload(Tale::FellBack, EXPIRED);
        (expired["reason"], expired["fallback_value"]) = (json!("portfolio_deadline"), Value::Null);
        (expired["portfolio_id"], expired["portfolio_deadline"]) = (json!(portfolio), json!(format!("{}Z", at(portfolio_ends))));
        let place = world.place(Tale::FellBack, EXPIRED) + 1;
        world.events[place]["payload"]["new_status"] = json!("abandoned");
        world.date(Tale::FellBack, EXPIRED, DEADLINE + 100);
        judge(&world, None)
    };
    let report = ended_at(DEADLINE + 60, false);
    assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
    assert_eq!((report.decisions, remarks(&report)), (DECISIONS - 1, vec![("decisions_portfolio", Some(1))]));
    let early = ended_at(DEADLINE + 101, false);
    assert_eq!(early.findings.first().map(|finding| finding.code.text()), Some("expired_early"), "{:#?}", early.findings);
    // A question whose policy is `fail` gets no time back, so its own deadline ends it.
    let due = ended_at(DEADLINE + 60, true);
    assert_eq!(due.findings.first().map(|finding| finding.code.text()), Some("fallback_differs"), "{:#?}", due.findings);
}
