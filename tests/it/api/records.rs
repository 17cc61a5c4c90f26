//! Data that agents keep with an intent: decisions, attachments, costs, failures, the retry policy.

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

const KINDS: [&str; 4] = ["decisions", "attachments", "costs", "failures"];

/// A body that each kind accepts.
fn body(kind: &str) -> Value {
    match kind {
        "decisions" => json!({"decision_type": "approach", "outcome": "approve", "reasoning": "the order was late"}),
        "attachments" => json!({"filename": "a.pdf", "mime_type": "application/pdf", "size": 7, "storage_url": "s3://b/a.pdf"}),
        "costs" => json!({"cost_type": "tokens", "amount": 3, "unit": "tokens"}),
        "failures" => json!({"attempt_number": 1, "error_message": "no"}),
        _ => json!({"strategy": "fixed"}),
    }
}

fn path(intent: IntentId, kind: &str) -> String {
    format!("api/v1/intents/{intent}/{kind}")
}

async fn keep(api: &Api, intent: IntentId, kind: &str, body: Value) -> Reply {
    let method = if kind == "retry-policy" { "PUT" } else { "POST" };
    api.send(api.request(method, &path(intent, kind)).json(&body)).await
}

/// A text of `count` bytes.
fn text(count: usize) -> Value {
    json!("x".repeat(count))
}

/// An object that is `bytes` bytes long as JSON.
fn object(bytes: usize) -> Value {
    json!({ "k": "x".repeat(bytes - r#"{"k":""}"#.len()) })
}

on_each_store! {
    /// Data that an agent keeps is there after a restart, in the order in which it was kept, and other agents do not see it.
    async fn kept_data_is_listed_for_its_agent_and_for_people(app: &mut TestApp) {
        let intent = app.agent().active_intent().await;
        for kind in KINDS {
            let one = keep(&app.agent(), intent, kind, body(kind)).await.ok();
            let second = if kind == "decisions" { app.agent() } else { app.operator() };
            let other = keep(&second, intent, kind, body(kind)).await.ok();
            app.restart().await;
            let listed = app.agent().get(&path(intent, kind)).await.ok();
            assert_eq!(listed[kind], json!([one, other]), "{kind}");
            for role in [Role::Operator, Role::Admin, Role::Auditor] {
                assert_eq!(app.api(role).get(&path(intent, kind)).await.ok(), listed, "{kind} {role}");
            }
        }
        let agent = app.agent();
        assert_eq!(agent.intent(intent).await["version"], json!(1), "kept data does not change the intent");
        let foreign = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other-agent").await));
        for kind in KINDS.into_iter().chain(["retry-policy"]) {
            let before = agent.everything(intent).await;
            assert_eq!(foreign.get(&path(intent, kind)).await.problem(), (404, "not_found"), "{kind}");
            assert_eq!(keep(&foreign, intent, kind, body(kind)).await.problem(), (404, "not_found"), "{kind}");
            for role in [Role::Admin, Role::Auditor, Role::Channel] {
                assert_eq!(keep(&app.api(role), intent, kind, body(kind)).await.problem(), (403, "forbidden"), "{kind} {role}");
            }
            assert_eq!(app.api(Role::Channel).get(&path(intent, kind)).await.problem(), (403, "forbidden"), "{kind}");
            assert_eq!(agent.everything(intent).await, before);
        }
    }

    /// The client reads some times under camel-case names only. Its synchronous and asynchronous variants use different names for
    /// the same members of an attachment, and the server takes both.
    async fn the_shapes_are_those_of_the_client(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let now = json!("2026-11-24T08:00:00.000000");
        let decision = keep(&agent, intent, "decisions", body("decisions")).await.ok();
        assert_eq!((&decision["decision_maker_id"], &decision["created_at"]), (&json!("test-agent"), &now));
        let asynchronous = json!({"filename": "a.pdf", "content_type": "application/pdf", "size_bytes": 7, "url": "s3://b/a.pdf"});
        let mut first = keep(&agent, intent, "attachments", asynchronous).await.ok();
        let mut second = keep(&agent, intent, "attachments", body("attachments")).await.ok();
        assert_eq!((&first["uploaded_by"], &first["createdAt"], &first["metadata"]), (&json!("test-agent"), &now, &json!({})));
        first["id"].take();
        second["id"].take();
        assert_eq!(first, second);
        let failure = json!({"error_type": "timeout", "recoverable": false, "retry_scheduled_at": "2030-01-01T00:00:00"});
        let failure = keep(&agent, intent, "failures", failure).await.ok();
        assert_eq!(failure["retryScheduledAt"], json!("2030-01-01T00:00:00.000000"));
        assert_eq!((failure.get("attempt_number"), &failure["createdAt"]), (None, &now));
    }

    /// Costs are added by kind and by agent; a whole sum stays a whole number.
    async fn costs_are_added(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let empty = agent.get(&path(intent, "costs")).await.ok();
        assert_eq!(empty, json!({"costs": [], "summary": {"total": 0, "by_type": {}, "by_agent": {}}}));
        for (who, kind, amount) in [("test-agent/1", "tokens", json!(1500)), ("test-agent/1", "api_call", json!(0.25)), ("other", "tokens", json!(500))] {
            let body = json!({"cost_type": kind, "amount": amount, "unit": "u", "agent_id": who});
            let cost = keep(&agent, intent, "costs", body).await.ok();
            // The key may not act for the agent `other`, so the record shows that name only as a claim.
            let claimed = (who == "other").then(|| json!("other"));
            assert_eq!(cost.get("claimed_agent_id"), claimed.as_ref(), "{cost}");
        }
        let summary = agent.get(&path(intent, "costs")).await.ok()["summary"].take();
        let expected = json!({"total": 2000.25, "by_type": {"api_call": 0.25, "tokens": 2000}, "by_agent": {"test-agent": 500, "test-agent/1": 1500.25}});
        assert_eq!(summary, expected);
    }

    /// An attachment that was removed stays in the log.
    async fn an_attachment_is_removed_once_and_stays_in_the_log(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let attachment = keep(&agent, intent, "attachments", body("attachments")).await.ok();
        let other = agent.active_intent().await;
        let of = |intent: IntentId, id: &str| format!("{}/{id}", path(intent, "attachments"));
        let id = attachment["id"].as_str().unwrap();
        for missing in [of(intent, "019ab0f2-0000-7000-8000-000000000000"), of(intent, "x"), of(other, id)] {
            assert_eq!(agent.send(agent.request("DELETE", &missing)).await.problem(), (404, "not_found"), "{missing}");
        }
        let auditor = app.api(Role::Auditor);
        assert_eq!(auditor.send(auditor.request("DELETE", &of(intent, id))).await.problem(), (403, "forbidden"));
        let removed = agent.send(agent.request("DELETE", &of(intent, id))).await;
        assert_eq!((removed.status, removed.text.as_str()), (204, ""));
        app.restart().await;
        let agent = app.agent();
        assert_eq!(agent.get(&path(intent, "attachments")).await.ok(), json!({"attachments": []}));
        assert_eq!(agent.send(agent.request("DELETE", &of(intent, id))).await.problem(), (404, "not_found"));
        assert_eq!(agent.event_types(intent).await, ["intent_created", "attachment_added", "attachment_removed"]);
    }

    /// The policy that was set last counts, and the reply says that the server enforces it.
    async fn the_newest_retry_policy_counts_and_says_that_it_is_enforced(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        assert_eq!(agent.get(&path(intent, "retry-policy")).await.problem(), (404, "not_found"));
        keep(&agent, intent, "retry-policy", body("retry-policy")).await.ok();
        let whole = json!({"strategy": "linear", "max_retries": 5, "base_delay_ms": 2, "max_delay_ms": 3, "fallback_agent_id": "b", "failure_threshold": 4});
        let set = keep(&agent, intent, "retry-policy", whole.clone()).await.ok();
        app.restart().await;
        let read = app.agent().get(&path(intent, "retry-policy")).await.ok();
        assert_eq!(read, set);
        assert_eq!(read["enforced"], json!(true));
        for (name, value) in whole.as_object().unwrap() {
            assert_eq!(read[name], *value, "{name}");
        }
    }

    /// A repeated request keeps nothing twice.
    async fn a_repeated_request_keeps_nothing_twice(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        for kind in KINDS {
            let first = agent.post_once(&path(intent, kind), "k", body(kind)).await.ok();
            assert_eq!(agent.post_once(&path(intent, kind), "k", body(kind)).await.ok(), first, "{kind}");
            assert_eq!(agent.get(&path(intent, kind)).await.ok()[kind], json!([first]), "{kind}");
        }
    }

    /// For each limit of kept data, a value at the limit is accepted and a value beyond it is refused.
    async fn kept_data_has_limits(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let before = agent.event_types(intent).await.len();
        let mut kept = 0;
        let cases = [
            ("decisions", "decision_type", text(200), text(201), "length"),
            ("decisions", "decision_type", text(1), text(0), "length"),
            ("decisions", "outcome", text(2_000), text(2_001), "length"),
            ("decisions", "outcome", text(1), text(0), "length"),
            ("decisions", "reasoning", text(16_384), text(16_385), "length"),
            ("decisions", "decision_type", text(1), json!("a\u{7}b"), "characters"),
            ("attachments", "filename", text(255), text(256), "length"),
            ("attachments", "filename", text(1), text(0), "length"),
            ("attachments", "mime_type", text(200), text(201), "length"),
            ("attachments", "storage_url", text(2_000), text(2_001), "length"),
            ("attachments", "storage_url", text(1), text(0), "length"),
            ("attachments", "metadata", object(16_384), object(16_385), "length"),
            ("costs", "agent_id", text(200), text(201), "length"),
            ("failures", "retry_scheduled_at", json!("9999-12-31T23:59:59"), json!("9999-12-31T23:59:59-01:00"), "range"),
            ("failures", "retry_scheduled_at", json!("0001-01-01T00:00:00"), json!("0000-12-31T23:59:59"), "range"),
            ("failures", "retry_scheduled_at", json!("2016-12-31T23:59:59"), json!("2016-12-31T23:59:60"), "range"),
            ("costs", "cost_type", text(200), text(201), "length"),
            ("costs", "unit", text(200), text(201), "length"),
            ("costs", "provider", text(200), text(201), "length"),
            ("costs", "metadata", object(16_384), object(16_385), "length"),
            ("failures", "agent_id", text(200), text(201), "length"),
            ("failures", "attempt_number", json!(1_000_000), json!(1_000_001), "range"),
            ("failures", "error_code", text(200), text(201), "length"),
            ("failures", "error_type", text(200), text(201), "length"),
            ("failures", "error_message", text(16_384), text(16_385), "length"),
            ("failures", "metadata", object(16_384), object(16_385), "length"),
            ("retry-policy", "max_retries", json!(1_000), json!(1_001), "range"),
            ("retry-policy", "base_delay_ms", json!(2_592_000_000_u64), json!(2_592_000_001_u64), "range"),
            ("retry-policy", "max_delay_ms", json!(2_592_000_000_u64), json!(2_592_000_001_u64), "range"),
            ("retry-policy", "fallback_agent_id", text(200), text(201), "length"),
            ("retry-policy", "failure_threshold", json!(1_000), json!(1_001), "range"),
            ("retry-policy", "failure_threshold", json!(1), json!(0), "range"),
        ];
        for (kind, field, bound, beyond, rule) in cases {
            let with = |value: Value| {
                let mut body = body(kind);
                body[field] = value;
                body
            };
            let refused = keep(&agent, intent, kind, with(beyond)).await;
            assert_eq!(refused.field_problem(), (422, "invalid", field, rule), "{kind}: {}", refused.text);
            keep(&agent, intent, kind, with(bound)).await.ok();
            kept += 1;
        }
        // The largest size and amount are the largest whole number that any body may hold.
        for (kind, field) in [("attachments", "size"), ("costs", "amount")] {
            let mut largest = body(kind);
            largest[field] = json!(9_007_199_254_740_991_u64);
            keep(&agent, intent, kind, largest.clone()).await.ok();
            for beyond in [json!(9_007_199_254_740_992_u64), json!(1e300)] {
                largest[field] = beyond;
                assert_eq!(keep(&agent, intent, kind, largest.clone()).await.problem(), (422, "malformed_json"), "{kind}");
            }
        }
        assert_eq!(agent.event_types(intent).await.len(), before + kept + 2);
    }

    /// A decision of an agent must never be taken for the answer of a person.
    async fn a_recorded_decision_answers_no_question(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, id) = agent.ask(json!({})).await;
        let refused = keep(&app.operator(), intent, "decisions", body("decisions")).await;
        assert_eq!(refused.problem(), (403, "forbidden"), "a person decides by an answer");
        let forged = json!({"decision_type": "intent.resumed", "outcome": "approve", "reasoning": "", "suspension_id": id, "decided_by": "alice@example.com"});
        let decision = keep(&agent, intent, "decisions", forged).await.ok();
        assert_eq!(decision["decision_maker_id"], json!("test-agent"));
        assert_eq!(agent.suspension(&id).await["resolution"], json!(null));
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
    }
}
