//! Intents that are paused and parked: what honest servers log, and resumptions that the holder of the log made up.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;
#[expect(dead_code, reason = "other tests need the rest")]
mod world;

use serde_json::{Value, json};
use verify::report::{Report, Verdict};
use verify::{Options, Watchers, verify};
use world::{Tale, World, at, id, key};

/// When an intent was stopped, in seconds.
const STOPPED_AT: u64 = 6_000;
/// When it went on.
const RESUMED_AT: u64 = STOPPED_AT + 300;

fn judge(world: &World) -> Report {
    let log = world.log();
    let options = Options::with_keys(vec![log.key.verifying().clone()]);
    verify("export", log.export(log.events.len(), None).write().as_bytes(), &options, Watchers::default())
}

/// The credential of a key; none of the server itself.
fn with_credential(mut payload: Value, actor: &str) -> Value {
    if actor != "placet" {
        payload["credential"] = key(actor);
    }
    payload
}

fn status(world: &mut World, actor: &str, at: u64, (old, new): (&str, &str)) {
    let mut payload = json!({"old_status": old, "new_status": new, "reason": null});
    if new == "abandoned" {
        payload["abandonment_reason"] = json!("auto-resume timeout expired");
    }
    if new == "blocked" {
        payload["blocked_reason"] = json!("paused");
    }
    world.happen(Tale::Approved, actor, at, "status_changed", payload);
}

/// A world in which an agent works on an intent that is paused.
fn paused(by: &str) -> World {
    let mut world = World::honest();
    let initiator = if by.ends_with("bot") { "parent" } else { "operator" };
    let paused = json!({
        "suspension_id": id(0xf01), "mode": "finish_step", "stage": "requested", "initiator": initiator, "paused_by": by,
    });
    world.happen(Tale::Approved, by, STOPPED_AT, "lifecycle.paused", with_credential(paused, by));
    status(&mut world, by, STOPPED_AT, ("active", "blocked"));
    world
}

/// A world in which an agent has parked its intent for five minutes, or until an event comes.
fn parked(on_timeout: &str) -> World {
    let mut world = World::honest();
    let input = (on_timeout == "resume_with_input").then_some("go");
    let timeout = json!({"duration_minutes": 5, "on_timeout": on_timeout, "input": input});
    let trigger = json!({"kind": "review", "provider": "placet", "events": ["review.approved"]});
    let parked = json!({
        "suspension_id": id(0xf01), "reason": "Waiting.", "conditions": {"trigger": trigger, "timeout": timeout},
        "expires_at": format!("{}Z", at(RESUMED_AT)), "resume_owner": "server", "parked_by": "bot",
    });
    world.happen(Tale::Approved, "bot", STOPPED_AT, "lifecycle.parked", with_credential(parked, "bot"));
    status(&mut world, "bot", STOPPED_AT, ("active", "blocked"));
    world
}

/// Lets the intent go on.
fn resumed(world: &mut World, by: &str, at: u64, cause: &str, rest: &Value) {
    let mut resumed = json!({"suspension_id": id(0xf01), "cause": cause, "continue_transcript": true, "resumed_by": by});
    for (name, value) in rest.as_object().unwrap() {
        resumed[name] = value.clone();
    }
    world.happen(Tale::Approved, by, at, "lifecycle.resumed", with_credential(resumed, by));
    status(world, by, at, ("blocked", "active"));
}

fn first(world: &World) -> Option<(&'static str, String)> {
    judge(world).findings.first().map(|finding| (finding.code.text(), finding.text.clone()))
}

/// The remarks about decisions, if the log is verified.
fn doubts(world: &World) -> Vec<(&'static str, Option<u64>)> {
    let report = judge(world);
    assert_eq!(report.verdict, Verdict::Verified, "{:#?}", report.findings);
    let of_decisions = report.not_checkable.iter().filter(|remark| remark.code.starts_with("decisions"));
    of_decisions.map(|remark| (remark.code, remark.count)).collect()
}

#[test]
fn a_person_pauses_and_resumes() {
    let mut world = paused("alice");
    resumed(&mut world, "root", RESUMED_AT, "explicit_resume", &json!({"input": "go"}));
    assert!(doubts(&world).is_empty());
}

/// The log does not say whose child the intent is, so the agent above is believed, and the agent itself never is.
#[test]
fn an_agent_resumes_what_it_paused_as_the_one_above_and_no_other_agent_does() {
    let mut world = paused("other-bot");
    resumed(&mut world, "other-bot", RESUMED_AT, "explicit_resume", &json!({}));
    assert_eq!(doubts(&world), [("decisions_owner", Some(2_u64))]);
    let forged = [("alice", "bot"), ("alice", "sibling"), ("alice", "other-bot"), ("alice", "carol"), ("other-bot", "bot")];
    for (paused_by, by) in forged {
        let mut world = paused(paused_by);
        resumed(&mut world, by, RESUMED_AT, "explicit_resume", &json!({}));
        assert_eq!(first(&world).map(|(code, _)| code), Some("change_not_allowed"), "{by} after {paused_by}");
    }
}

/// The agent above lets a parked intent go on, and so does an agent that may write it: neither is in the log of the intent.
#[test]
fn another_agent_may_resume_a_park() {
    let mut world = parked("fail");
    resumed(&mut world, "other-bot", RESUMED_AT - 1, "explicit_resume", &json!({}));
    assert_eq!(doubts(&world), [("decisions_owner", Some(1_u64))]);
}

#[test]
fn an_event_and_a_time_end_a_park_as_its_conditions_say() {
    let mut world = parked("fail");
    resumed(&mut world, "alice", RESUMED_AT - 1, "condition_fired", &json!({"event": "review.approved"}));
    assert!(doubts(&world).is_empty());
    let mut world = parked("resume_with_input");
    resumed(&mut world, "placet", RESUMED_AT, "timeout", &json!({"input": "go"}));
    assert!(doubts(&world).is_empty());
    for (by, at, cause, rest, words) in [
        ("alice", RESUMED_AT - 1, "external_event", json!({"event": "review.approved"}), "did not wait"),
        ("alice", RESUMED_AT - 1, "condition_fired", json!({"event": "review.refused"}), "did not wait"),
        ("placet", RESUMED_AT - 1, "timeout", json!({"input": "go"}), "before it was over"),
        ("placet", RESUMED_AT, "timeout", json!({"input": "stop"}), "something else"),
        ("placet", RESUMED_AT, "timeout", json!({"input": "go", "continue_transcript": false}), "something else"),
        ("placet", RESUMED_AT, "timeout", json!({"digest": "d", "continue_transcript": false}), "in another way"),
        ("alice", RESUMED_AT, "closed", json!({}), "abandoned"),
    ] {
        let mut world = parked("resume_with_input");
        resumed(&mut world, by, at, cause, &rest);
        let (code, text) = first(&world).unwrap();
        assert!(code == "decision_differs" && text.contains(words), "{cause} {rest}: {code} {text}");
    }
}

/// An event lets nothing go on that waits for one of another provider. A sender of signed messages is a provider of its own, and has no key.
#[test]
fn an_event_of_another_provider_counts_for_nothing() {
    let mut world = parked("fail");
    let event = json!({"event": "review.approved"});
    let mut woken = json!({
        "suspension_id": id(0xf01), "cause": "condition_fired", "continue_transcript": true, "resumed_by": "webhook:ci",
    });
    woken["event"] = event["event"].clone();
    world.happen(Tale::Approved, "webhook:ci", RESUMED_AT - 1, "lifecycle.resumed", woken);
    status(&mut world, "webhook:ci", RESUMED_AT - 1, ("blocked", "active"));
    let (code, text) = first(&world).unwrap();
    assert!(code == "decision_differs" && text.contains("did not wait"), "{code} {text}");
    world.payload(Tale::Approved, "lifecycle.parked")["conditions"]["trigger"]["provider"] = json!("webhook");
    assert_eq!(doubts(&world), [("decisions_sender", Some(1))]);
    // The log may name the message; logs of older servers do not.
    world.payload(Tale::Approved, "lifecycle.resumed")["webhook_id"] = json!("msg-1");
    assert_eq!(doubts(&world), [("decisions_sender", Some(1))]);
    let mut world = parked("fail");
    resumed(&mut world, "alice", RESUMED_AT - 1, "condition_fired", &event);
    assert!(doubts(&world).is_empty());
}

/// Only the telling of an event is an act of a sender: nothing else in its name is told apart from what names no credential.
#[test]
fn nothing_but_an_event_counts_as_that_of_a_sender() {
    let mut answered = World::honest();
    let answer = answered.payload(Tale::Chosen, "intent.resumed");
    answer["responded_by"] = json!("webhook:ci");
    answer.as_object_mut().unwrap().remove("credential");
    answered.event(Tale::Chosen, "intent.resumed").insert("actor".to_owned(), json!("webhook:ci"));
    let mut halted = paused("alice");
    let pause = halted.payload(Tale::Approved, "lifecycle.paused");
    pause["paused_by"] = json!("webhook:ci");
    pause.as_object_mut().unwrap().remove("credential");
    halted.event(Tale::Approved, "lifecycle.paused").insert("actor".to_owned(), json!("webhook:ci"));
    for world in [answered, halted] {
        assert_eq!(doubts(&world), [("decisions_credential", Some(1))]);
    }
    // Another one tells of the event in the name of the sender.
    let mut world = parked("fail");
    world.payload(Tale::Approved, "lifecycle.parked")["conditions"]["trigger"]["provider"] = json!("webhook");
    let woken = json!({
        "suspension_id": id(0xf01), "cause": "condition_fired", "continue_transcript": true, "resumed_by": "webhook:ci",
        "event": "review.approved",
    });
    world.happen(Tale::Approved, "alice", RESUMED_AT - 1, "lifecycle.resumed", woken);
    status(&mut world, "alice", RESUMED_AT - 1, ("blocked", "active"));
    assert_eq!(doubts(&world), [("decisions_credential", Some(1))]);
}

/// The end of an intent ends its stop, for one of two reasons.
#[test]
fn a_stop_that_ends_with_its_intent_has_a_reason_for_that() {
    for (by, cause, code) in [
        ("placet", "timeout", None),
        ("bot", "closed", None),
        ("root", "timeout", Some("change_not_allowed")),
        ("root", "external_event", Some("decision_differs")),
    ] {
        let mut world = parked("fail");
        let closed = json!({"suspension_id": id(0xf01), "cause": cause, "closed_by": by});
        world.happen(Tale::Approved, by, RESUMED_AT, "lifecycle.closed", with_credential(closed, by));
        status(&mut world, by, RESUMED_AT, ("blocked", "abandoned"));
        assert_eq!(first(&world).map(|(code, _)| code), code, "{by} {cause}");
    }
}

/// A world in which the work on the intent is being ended for five minutes.
fn stopping(by: &str) -> World {
    let mut world = World::honest();
    let stopping = json!({
        "suspension_id": id(0xf01), "stage": "requested", "initiator": "operator", "stopped_by": by,
        "expires_at": format!("{}Z", at(RESUMED_AT)),
    });
    world.happen(Tale::Approved, by, STOPPED_AT, "lifecycle.stopping", with_credential(stopping, by));
    status(&mut world, by, STOPPED_AT, ("active", "blocked"));
    world
}

/// Work ends when its agent has handed in what it has, when its time is over, and when a controller wants it at once. The agent may have
/// created the parent of the intent, and be its controller as well: the log does not say that.
#[test]
fn the_end_of_work_has_one_of_its_reasons() {
    for (ended_by, by, at, cause, handoff, code) in [
        ("alice", "bot", RESUMED_AT - 1, "handed_over", true, None),
        ("alice", "bot", RESUMED_AT - 1, "handed_over", false, None),
        ("alice", "placet", RESUMED_AT, "timeout", false, None),
        ("alice", "root", RESUMED_AT - 1, "stopped", false, None),
        ("alice", "bot", RESUMED_AT - 1, "closed", false, None),
        ("bot", "placet", RESUMED_AT, "timeout", false, None),
        ("carol", "placet", RESUMED_AT, "timeout", false, Some("change_not_allowed")),
        ("alice", "bot", RESUMED_AT - 1, "stopped", false, None),
        ("alice", "alice", RESUMED_AT - 1, "handed_over", true, Some("change_not_allowed")),
        ("alice", "alice", RESUMED_AT, "timeout", false, Some("change_not_allowed")),
        ("alice", "placet", RESUMED_AT - 1, "timeout", false, Some("decision_differs")),
        ("alice", "root", RESUMED_AT - 1, "stopped", true, Some("decision_differs")),
        ("alice", "placet", RESUMED_AT, "external_event", false, Some("decision_differs")),
    ] {
        let mut world = stopping(ended_by);
        let mut closed = json!({"suspension_id": id(0xf01), "cause": cause, "closed_by": by});
        if handoff {
            closed["handoff"] = json!({"left": "all"});
        }
        world.happen(Tale::Approved, by, at, "lifecycle.closed", with_credential(closed, by));
        status(&mut world, by, at, ("blocked", "abandoned"));
        assert_eq!(first(&world).map(|(code, _)| code), code, "{ended_by} {by} {cause}");
    }
}

/// Work that is being ended does not go on, and a pause that gave place to the end is followed by it.
#[test]
fn what_was_to_be_ended_does_not_go_on() {
    let mut world = stopping("alice");
    resumed(&mut world, "root", RESUMED_AT - 1, "explicit_resume", &json!({}));
    assert_eq!(first(&world).map(|(code, _)| code), Some("decision_differs"));
    for (follows, code) in [(true, None), (false, Some("decision_differs"))] {
        let mut world = paused("alice");
        let closed = json!({"suspension_id": id(0xf01), "cause": "stopped", "closed_by": "root"});
        world.happen(Tale::Approved, "root", RESUMED_AT, "lifecycle.closed", with_credential(closed, "root"));
        if follows {
            let stopping =
                json!({"suspension_id": id(0xf02), "stage": "suspended", "initiator": "operator", "stopped_by": "root"});
            world.happen(Tale::Approved, "root", RESUMED_AT, "lifecycle.stopping", with_credential(stopping, "root"));
            let closed = json!({"suspension_id": id(0xf02), "cause": "stopped", "closed_by": "root"});
            world.happen(Tale::Approved, "root", RESUMED_AT, "lifecycle.closed", with_credential(closed, "root"));
            status(&mut world, "root", RESUMED_AT, ("blocked", "abandoned"));
        } else {
            status(&mut world, "root", RESUMED_AT, ("blocked", "active"));
        }
        assert_eq!(first(&world).map(|(code, _)| code), code);
    }
}

/// The end of work leaves its agent at the stage that the pause had. Older servers wrote that the agent had stopped; their logs verify.
#[test]
fn the_end_of_paused_work_has_the_stage_of_the_pause() {
    for (settled, stage, code) in [
        (None, "requested", None),
        (None, "suspended", None),
        (None, "quiescing", Some("decision_differs")),
        (Some("quiescing"), "quiescing", None),
        (Some("quiescing"), "suspended", None),
        (Some("quiescing"), "requested", Some("decision_differs")),
        (Some("suspended"), "suspended", None),
        (Some("suspended"), "requested", Some("decision_differs")),
    ] {
        let mut world = paused("alice");
        if let Some(settled) = settled {
            let settled = json!({"suspension_id": id(0xf01), "stage": settled});
            world.happen(Tale::Approved, "bot", STOPPED_AT + 1, "lifecycle.settled", with_credential(settled, "bot"));
        }
        let closed = json!({"suspension_id": id(0xf01), "cause": "stopped", "closed_by": "root"});
        world.happen(Tale::Approved, "root", RESUMED_AT, "lifecycle.closed", with_credential(closed, "root"));
        let stopping = json!({
            "suspension_id": id(0xf02), "stage": stage, "initiator": "operator", "stopped_by": "root",
            "expires_at": format!("{}Z", at(RESUMED_AT + 60)),
        });
        world.happen(Tale::Approved, "root", RESUMED_AT, "lifecycle.stopping", with_credential(stopping, "root"));
        let handed_over = json!({"suspension_id": id(0xf02), "cause": "handed_over", "closed_by": "bot"});
        world.happen(Tale::Approved, "bot", RESUMED_AT + 1, "lifecycle.closed", with_credential(handed_over, "bot"));
        status(&mut world, "bot", RESUMED_AT + 1, ("blocked", "abandoned"));
        let found = first(&world);
        assert!(found.iter().all(|(_, text)| text.contains("names another stage of the agent")), "{found:?}");
        assert_eq!(found.map(|(code, _)| code), code, "{stage} after {settled:?}");
    }
}

/// A person takes a pause over from an agent, once, and that agent does not resume it any more.
#[test]
fn a_pause_of_an_agent_is_taken_over_by_a_person() {
    for (paused_by, taken_by, resumed_by, code) in [
        ("other-bot", "alice", "root", None),
        ("other-bot", "alice", "other-bot", Some("change_not_allowed")),
        ("other-bot", "bot", "root", Some("change_not_allowed")),
        ("alice", "root", "root", Some("decision_differs")),
    ] {
        let mut world = paused(paused_by);
        let taken = json!({"suspension_id": id(0xf01), "taken_over_by": taken_by});
        world.happen(Tale::Approved, taken_by, STOPPED_AT + 1, "lifecycle.taken_over", with_credential(taken, taken_by));
        resumed(&mut world, resumed_by, RESUMED_AT, "explicit_resume", &json!({}));
        assert_eq!(first(&world).map(|(code, _)| code), code, "{paused_by} {taken_by} {resumed_by}");
    }
}
