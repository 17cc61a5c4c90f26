//! Traffic of every kind that people and agents make, and the export of it: the verifier finds nothing in it and replays its decisions.
//!
//! `tests/verifier/traffic` has it made on a larger scale, and lets both verifiers judge the export after it was tampered with.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use std::collections::BTreeSet;

use domain::people::principal::Role;
use harness::api::Api;
use harness::app::TestApp;
use harness::on_each_store;
use harness::wish::{wish, wished};
use serde_json::{Value, json};
use verify::report::Verdict;
use verify::{Options, Watchers};

/// The events of a round of [`round`], about.
const EVENTS_OF_ROUND: usize = 120;
/// The least number of types of events in the traffic.
const TYPES_MIN: usize = 24;

/// The number of events that are wanted.
fn events_wanted() -> usize {
    wished("PLACET_TRAFFIC_EVENTS", 180)
}

/// Something of everything that can be changed in an event.
fn note() -> Value {
    json!({
        "amount": 12_345, "large": 9_007_199_254_740_990_u64, "rate": 0.25, "text": "caf\u{e9} for m\u{fc}ller",
        "nested": {"list": [1, true, null, "x"], "\u{1f600}\"": 1},
    })
}

/// Questions that operators answer: at once, only at the second try, and twice.
async fn answered(app: &TestApp) {
    let (agent, operator) = (app.agent(), app.operator());
    let (intent, question) = app.ask(json!({})).await;
    operator.respond(intent, &question, "approve").await.ok();
    agent.complete(intent).await;
    let (intent, question) = app.ask(json!({"context": note()})).await;
    assert_eq!(operator.respond(intent, &question, "perhaps").await.status, 422);
    operator.respond(intent, &question, "deny").await.ok();
    assert_eq!(operator.respond(intent, &question, "approve").await.status, 409);
    let (intent, question) = app.ask(json!({"response_type": "form", "choices": []})).await;
    operator.respond(intent, &question, json!({"amount": 0.5})).await.ok();
}

/// A question that a person answers by a link.
async fn answered_by_link(app: &TestApp) {
    // The next mail is then about this question.
    app.smtp.mailed().await;
    let (intent, _) = app.ask(json!({"notify_to": ["alice@example.com"]})).await;
    let link = app.next_link().await;
    app.person().answer(&link, "approve").await;
    assert_eq!(app.agent().status(intent).await, "active");
}

/// Questions that end without an answer: by time, with and without a fallback, and withdrawn by the agent.
async fn unanswered(app: &TestApp) {
    let (agent, operator) = (app.agent(), app.operator());
    let fallback = json!({"fallback_policy": "use_default_and_continue", "fallback_value": "deny", "timeout_seconds": 1_200});
    let (first, _) = app.ask(fallback).await;
    let retry = json!({
        "timeout_seconds": 1_200, "notify_to": ["alice@example.com"], "retry_policy": {
            "max_attempts": 2, "interval_seconds": 600, "final_fallback_policy": "fail",
            "escalation_ladder": [{"attempt": 2, "channel_hint": "email", "notify_to": "bob@example.com"}],
        },
    });
    let (second, question) = app.ask(retry).await;
    let (_, withdrawn) = app.ask(json!({})).await;
    agent.post(&format!("api/v1/suspensions/{withdrawn}/cancel"), json!({"reason": "not needed"})).await.ok();
    app.advance(600).await;
    app.advance(601).await;
    assert_eq!(agent.status(first).await, "active");
    assert_eq!(agent.status(second).await, "abandoned");
    assert_eq!(operator.respond(second, &question, "approve").await.status, 409);
}

/// A request for approval, beside which the intent goes on.
async fn approved(app: &TestApp) {
    let (agent, operator) = (app.agent(), app.operator());
    let intent = agent.active_intent().await;
    let path = format!("api/v1/intents/{intent}/approvals");
    for word in ["approve", "deny"] {
        let asked = agent.post(&path, json!({"action": "pay", "context": note()})).await.ok();
        operator.post(&format!("{path}/{}/{word}", asked["id"].as_str().unwrap()), json!({})).await.ok();
    }
}

/// A portfolio with an intent, its task, and many notes of its agent.
async fn worked(app: &TestApp, number: usize) {
    let agent = app.agent();
    let portfolio = agent.post("api/v1/portfolios", json!({"name": format!("Phase {number}")})).await.ok();
    let portfolio = portfolio["id"].as_str().unwrap();
    let intent = agent.active_intent().await;
    for place in 0..8 {
        let comment = json!({"event_type": "comment", "payload": note()});
        agent.post(&format!("api/v1/intents/{intent}/events"), comment).await.ok();
        if place == 4 {
            agent
                .post(&format!("api/v1/portfolios/{portfolio}/intents"), json!({"intent_id": agent.active_intent().await}))
                .await
                .ok();
        }
    }
    let other = agent.active_intent().await;
    agent.post("api/v1/tasks", json!({"intent_id": other, "name": "Call the bank"})).await.ok();
    agent.post(&format!("api/v1/intents/{other}/leases"), json!({"scope": "bank", "duration_seconds": 60})).await.ok();
}

/// An admin makes a key, which answers a question, and revokes it; then the content of that question is erased.
async fn administered(app: &TestApp, number: usize) {
    let (agent, admin) = (app.agent(), app.api(Role::Admin));
    let key = admin.post("api/v1/keys", json!({"role": "operator", "name": format!("desk {number}")})).await.ok();
    let (intent, question) = app.ask(json!({})).await;
    let desk = Api::new(agent.base(), key["key"].as_str());
    desk.respond(intent, &question, "approve").await.ok();
    agent.post(&format!("api/v1/suspensions/{question}/receipt"), json!({})).await.ok();
    agent.complete(intent).await;
    let id = key["id"].as_str().unwrap();
    admin.send(admin.request("DELETE", &format!("api/v1/keys/{id}"))).await;
    admin.post(&format!("api/v1/intents/{intent}/redact"), json!({"legal_basis": "GDPR Art. 17(1)(a)"})).await.ok();
}

/// Questions on which two of three people must agree: they agree, one of them is removed in between, and at a deadline they do not.
async fn agreed(app: &TestApp, number: usize) {
    let (agent, admin) = (app.agent(), app.api(Role::Admin));
    let address = |name: &str| format!("{name}-{number}@example.com");
    let mut keys = Vec::new();
    let mut paths = Vec::new();
    for name in ["ada", "bob", "eve"] {
        let person = admin.post("api/v1/people", json!({"address": address(name), "role": "operator"})).await.ok();
        paths.push(format!("api/v1/people/{}", person["id"].as_str().unwrap()));
        let key = json!({"role": "operator", "name": address(name), "subject": address(name)});
        keys.push(Api::new(agent.base(), admin.post("api/v1/keys", key).await.ok()["key"].as_str()));
    }
    let group = format!("api/v1/groups/finance-{number}");
    let members = |names: &[&str]| json!({"members": names.iter().map(|name| address(name)).collect::<Vec<_>>()});
    admin.send(admin.request("PUT", &group).json(&members(&["ada", "bob"]))).await.ok();
    let groups = json!([format!("finance-{number}")]);
    let quorum = json!({"required_approvals": 2, "required_by_group": {format!("finance-{number}"): 1}});
    let fallback = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "approve", "timeout_seconds": 600});
    let mut asks = json!({"quorum": quorum, "assignees": {"groups": groups, "people": [address("eve")]}});
    asks.as_object_mut().unwrap().extend(fallback.as_object().unwrap().clone());
    let (intent, question) = app.ask(asks.clone()).await;
    keys[0].respond(intent, &question, "approve").await.ok();
    keys[0].post(&format!("api/v1/suspensions/{question}/take-back"), json!({})).await.ok();
    keys[0].respond(intent, &question, "approve").await.ok();
    keys[2].respond(intent, &question, "approve").await.ok();
    assert_eq!(agent.status(intent).await, "active");
    let (unmet, question) = app.ask(asks.clone()).await;
    keys[1].respond(unmet, &question, "approve").await.ok();
    app.advance(600).await;
    assert_eq!(agent.status(unmet).await, "abandoned");
    let (left, question) = app.ask(asks).await;
    keys[0].respond(left, &question, "approve").await.ok();
    admin.send(admin.request("PUT", &group).json(&members(&["bob"]))).await.ok();
    admin.send(admin.request("DELETE", &paths[0])).await.ok();
    app.advance(400).await;
    keys[2].respond(left, &question, "approve").await.ok();
    keys[1].respond(left, &question, "approve").await.ok();
    assert_eq!(agent.status(left).await, "active");
}

async fn round(app: &TestApp, number: usize) {
    answered(app).await;
    answered_by_link(app).await;
    unanswered(app).await;
    approved(app).await;
    worked(app, number).await;
    administered(app, number).await;
    agreed(app, number).await;
    app.settle().await;
    app.smtp.mailed().await;
}

on_each_store! {
    /// If one of these is not verified, the verifier accuses an honest server.
    async fn traffic_of_every_kind_is_verified_and_replayed(app: &mut TestApp) {
        let rounds = events_wanted().div_ceil(EVENTS_OF_ROUND);
        for number in 0..rounds {
            round(app, number).await;
            if number == rounds / 2 {
                app.restart().await;
            }
        }
        let text = app.api(Role::Auditor).get("api/v1/export").await.text;
        let key = app.checkpoints().key().unwrap().verifying().clone();
        let report = verify::verify("export", text.as_bytes(), &Options::with_keys(vec![key]), Watchers::default());
        assert_eq!(report.verdict, Verdict::Verified, "{:?}", report.findings);
        assert!(report.events >= events_wanted() as u64, "{} events", report.events);
        assert!(report.decisions >= 8 * rounds as u64, "{} decisions", report.decisions);
        assert!(report.redacted > 0);
        let types: BTreeSet<String> = text
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).unwrap()["event"]["event_type"].as_str().map(str::to_owned))
            .collect();
        assert!(types.len() >= TYPES_MIN, "{types:?}");
        println!("{} events, {} replayed decisions, {} types", report.events, report.decisions, types.len());
        if let Some(file) = wish("PLACET_TRAFFIC_FILE") {
            std::fs::write(file, text).unwrap();
        }
    }
}
