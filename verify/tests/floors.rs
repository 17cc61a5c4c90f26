//! Floors of assurance, answers in sessions, the owner of the asker, and refusals that say why: the right ones, and those that the holder of
//! the log made up.
#![expect(clippy::unwrap_used, reason = "a test ends when it cannot go on")]

#[expect(dead_code, reason = "other tests need the rest")]
mod forge;
#[expect(dead_code, reason = "other tests need the rest")]
mod world;

use forge::time;
use serde_json::{Value, json};
use verify::report::{Report, Verdict};
use verify::{Options, Watchers, verify};
use world::{ASKED_AT, Tale, World, id};

const DAN: &str = "dan@x.example";
const RESUMED: &str = "intent.resumed";
const SESSION: u64 = 0x5e5;
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
}

fn found(world: &World, code: &str, words: &str) {
    let report = judge(world);
    let first = report.findings.first().map(|finding| (finding.code.text(), finding.text.as_str()));
    assert!(first.is_some_and(|(found, text)| found == code && text.contains(words)), "{words}: {first:?}");
}

/// Adds an event of the server's log; an early one has a leaf before those of all intents.
fn server(world: &mut World, actor: &str, at: u64, event_type: &str, payload: Value) {
    world.add(("log", &json!("server")), actor, at, event_type, payload);
    if at < ASKED_AT {
        let event = world.events.pop().unwrap();
        let place = world.events.iter().position(|event| event.contains_key("intent_id")).unwrap();
        world.events.insert(place, event);
    }
}

fn began(world: &mut World, actor: &str, at: u64) {
    let payload = json!({"session_id": id(SESSION), "person_id": id(0xf00), "role": "operator"});
    server(world, actor, at, "session.began", payload);
}

fn ended(world: &mut World, at: u64) {
    server(world, DAN, at, "session.ended", json!({"session_id": id(SESSION), "person_id": id(0xf00), "everywhere": false}));
}

/// A world in which the question demands a login, and Dan answers in a session whose beginning is not in the log yet.
fn in_session() -> World {
    let mut world = World::honest();
    world.payload(Tale::Linked, "intent.suspended")["required_assurance"] = json!("session");
    let answer = world.payload(Tale::Linked, RESUMED);
    (answer["assurance"], answer["credential"]) = (json!("session"), json!({"kind": "session", "id": id(SESSION)}));
    world
}

/// A world in which the question demands a recent login, and Dan answers after one; the issuer says when it was, and the server until when
/// it was recent.
fn after_a_login(auth_time: u64, recent_until: Option<u64>) -> World {
    after_a_login_by("openid", auth_time, recent_until)
}

fn after_a_login_by(method: &str, auth_time: u64, recent_until: Option<u64>) -> World {
    let moment = |seconds: u64| json!(time(seconds * 1_000_000));
    let mut world = in_session();
    world.payload(Tale::Linked, "intent.suspended")["required_assurance"] = json!("recent_login");
    world.payload(Tale::Linked, RESUMED)["assurance"] = json!("recent_login");
    let mut payload = json!({
        "session_id": id(SESSION), "person_id": id(0xf00), "role": "operator", "method": method, "auth_time": moment(auth_time)
    });
    if let Some(until) = recent_until {
        payload["recent_until"] = moment(until);
    }
    server(&mut world, DAN, 3, "session.began", payload);
    world
}

#[test]
fn an_answer_after_a_recent_login_is_one() {
    verified(&after_a_login(ASKED_AT, Some(ANSWERED_AT)));
    found(&after_a_login(ASKED_AT, Some(ANSWERED_AT - 1)), "unknown_credential", "the login was recent until");
    found(&after_a_login(ASKED_AT, None), "unknown_credential", "did not begin with one");
    // No server lets a login count for more than an hour.
    verified(&after_a_login(2, Some(2 + 3_600)));
    found(&after_a_login(2, Some(2 + 3_601)), "unknown_credential", "did not begin with one");
    // An issuer whose clock is ahead of the session's beginning makes no login count for longer.
    verified(&after_a_login(100_000, Some(3 + 3_600)));
    found(&after_a_login(100_000, Some(3 + 3_601)), "unknown_credential", "did not begin with one");
    found(&after_a_login_by("mail", 2, Some(ANSWERED_AT)), "unknown_credential", "did not begin with one");
    let mut world = after_a_login(ASKED_AT, Some(ANSWERED_AT));
    world.payload(Tale::Linked, RESUMED)["assurance"] = json!("session");
    found(&world, "answer_not_allowed", "demanded a recent login");
}

#[test]
fn an_answer_in_a_session_of_the_person_is_right() {
    let mut world = in_session();
    began(&mut world, DAN, 3);
    verified(&world);
    ended(&mut world, ANSWERED_AT + 1_000);
    verified(&world);
    // A session also answers a question that demands less.
    let mut world = in_session();
    began(&mut world, DAN, 3);
    world.payload(Tale::Linked, "intent.suspended").as_object_mut().unwrap().remove("required_assurance");
    verified(&world);
}

#[test]
fn an_answer_below_the_floor_is_found() {
    let mut world = World::honest();
    world.payload(Tale::Linked, "intent.suspended")["required_assurance"] = json!("session");
    found(&world, "answer_not_allowed", "answered without a session");
    // The event claims a login, and the credential is a link.
    world.payload(Tale::Linked, RESUMED)["assurance"] = json!("session");
    found(&world, "answer_not_allowed", "answered without a session");
    let mut world = in_session();
    began(&mut world, DAN, 3);
    world.payload(Tale::Linked, "intent.suspended")["required_assurance"] = json!("passkey");
    found(&world, "passkey_missing", "demanded a passkey");
}

#[test]
fn a_session_that_was_none_is_found() {
    found(&in_session(), "unknown_credential", "does not know");
    let mut world = in_session();
    began(&mut world, "eve@x.example", 3);
    found(&world, "unknown_credential", "a session of eve@x.example");
    let mut world = in_session();
    began(&mut world, DAN, ANSWERED_AT + 1_000);
    found(&world, "unknown_credential", "had not begun");
    let mut world = in_session();
    began(&mut world, DAN, 3);
    ended(&mut world, 4);
    found(&world, "unknown_credential", "had ended");
}

#[test]
fn the_owner_of_the_asker_is_found_also_without_a_quorum() {
    let mut world = World::honest();
    world.payload(Tale::Linked, "intent.suspended")["separation"] = json!("owner");
    verified(&world);
    let key = |number: u64, owner: &str| json!({"key_id": id(number), "name": "desk", "role": "operator", "subject": DAN, "owner": owner});
    server(&mut world, "root", 3, "key.created", key(0xc61, "another"));
    verified(&world);
    server(&mut world, "root", 3, "key.created", key(0xc62, "team-a"));
    found(&world, "answer_not_allowed", "the asker's own");
}

#[test]
fn a_refusal_without_a_comment_is_found() {
    let mut world = World::honest();
    world.payload(Tale::Linked, "intent.suspended")["comment_on_refusal"] = json!({"refusing": ["approve"]});
    found(&world, "answer_invalid", "metadata.comment");
    world.payload(Tale::Linked, RESUMED)["metadata"] = json!({"comment": "It is late."});
    verified(&world);
}
