//! Asking a question, asking again, and withdrawing a question.

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use domain::suspension::FallbackPolicy;
use domain::suspension::retry::PartialRetryPolicy;
use harness::api::{Api, Reply};
use harness::app::TestApp;
use harness::on_each_store;
use placet_server::config::FALLBACK_MIN_WINDOW_SECONDS;
use serde_json::{Value, json};

async fn cancel(api: &Api, id: &str, body: Value) -> Reply {
    api.post(&format!("api/v1/suspensions/{id}/cancel"), body).await
}

async fn set_status(api: &Api, intent: IntentId, status: &str) -> Reply {
    let version = api.intent(intent).await["version"].to_string();
    api.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": status, "reason": "because"})).await
}

on_each_store! {
    /// SDKs rely on the record: it has every field of RFC-0025 §5, including those that the server filled in.
    async fn a_question_answers_with_its_whole_record(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let decision = json!({"mode": "request_input", "should_ask": true});
        let reply = agent.suspend(intent, json!({
            "context": {"order": "12345", "text": "\u{0}\u{202e}kept"}, "channel_hint": "email", "confidence": 0.55,
            "decision_record": decision, "fallback_policy": "complete_with_fallback", "fallback_value": "deny",
            "notify_to": ["alice@example.com", "Alice@example.com", "bob@example.com"],
        })).await;
        assert_eq!(reply.headers["etag"], "\"2\""); // The intent's version, for the next write to the intent.
        let mut record = reply.ok();
        let id = record["id"].as_str().unwrap().to_owned();
        assert_eq!(agent.suspension(&id).await, record);
        let record = record.as_object_mut().unwrap();
        for field in ["id", "intent_id", "choices"] {
            record.remove(field);
        }
        let null = json!(null);
        assert_eq!(json!(record), json!({
            "kind": "awaiting_input", "version": 1, "attempt": 1, "question": "Refund order 12345?", "response_type": "choice",
            "context": {"order": "12345", "text": "\u{0}\u{202e}kept"}, "channel_hint": "email",
            "notify_to": ["alice@example.com", "bob@example.com"], "suspended_at": "2026-11-24T08:00:00.000000Z",
            "timeout_seconds": 3600, "expires_at": "2026-11-24T09:00:00.000000Z",
            "fallback_policy": "complete_with_fallback", "fallback_value": "deny", "retry_policy": null,
            "confidence_at_suspension": 0.55, "decision_record": decision, "reached": false, "response": null,
            "choice_label": null, "choice_description": null, "responded_by": null, "responded_at": null,
            "resolution": null, "resolution_reason": null, "resolved_at": null, "metadata": null,
        }));
        let after = agent.intent(intent).await;
        assert_eq!((&after["status"], &after["version"]), (&json!("suspended_awaiting_input"), &json!(2)));
        let shown = &after["state"]["_suspension"];
        assert_eq!((&shown["id"], &shown["resolution"]), (&json!(id), &null));
        assert_eq!(shown["expires_at"], json!("2026-11-24T09:00:00.000000")); // OpenIntent's routes write no `Z`.
    }

    /// The operator's default policy may name a fallback. A question without a fallback value must still be asked, and fails in
    /// the end, because its asker did not ask for a fallback.
    async fn an_inherited_fallback_needs_a_value_or_fails(_app: &mut TestApp) {
        let app = TestApp::start_with(|config| {
            config.asking.default_retry_policy = Some(PartialRetryPolicy {
                max_attempts: Some(2),
                interval_seconds: Some(60),
                final_fallback_policy: Some(FallbackPolicy::CompleteWithFallback),
                ..PartialRetryPolicy::default()
            });
        })
        .await;
        let agent = app.agent();
        let ask = async |change: Value| {
            let intent = agent.active_intent().await;
            let mut body = json!({"question": "Go?", "response_type": "confirm"});
            body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
            let record = agent.post(&format!("api/v1/intents/{intent}/suspend"), body).await.ok();
            (intent, record)
        };
        let (plain, record) = ask(json!({})).await;
        assert_eq!((&record["fallback_policy"], &record["retry_policy"]["max_attempts"]), (&json!("fail"), &json!(2)));
        let (_, partly) = ask(json!({"retry_policy": {"max_attempts": 1}})).await;
        assert_eq!(partly["retry_policy"]["final_fallback_policy"], json!("fail"));
        let (with_value, record) = ask(json!({"fallback_value": "no"})).await;
        assert_eq!(record["fallback_policy"], json!("complete_with_fallback"));
        // An asker that asks for a fallback itself must name its value.
        let body = json!({"question": "Go?", "response_type": "confirm", "fallback_policy": "complete_with_fallback"});
        let refused = agent.post(&format!("api/v1/intents/{}/suspend", agent.active_intent().await), body).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "fallback_value", "required"));
        app.settle().await;
        app.advance(60).await;
        app.advance(60).await;
        assert_eq!((agent.status(plain).await, agent.status(with_value).await), ("abandoned".to_owned(), "active".to_owned()));
        app.finish().await;
    }

    /// The server warns about a channel or style that it does not know, and asks the question all the same. RFC examples name
    /// "slack".
    async fn an_unknown_channel_or_style_is_no_reason_to_lose_a_question(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let choices = json!([{"value": "a", "label": "A", "style": "blinking", "metadata": {"k": 1}}]);
        let record = agent.suspend(intent, json!({"channel_hint": "slack", "choices": choices})).await.ok();
        assert_eq!(record["warnings"].as_array().unwrap().len(), 1);
        assert_eq!(record["channel_hint"], json!("slack"));
        assert_eq!(record["choices"], json!([{"value": "a", "label": "A", "style": "default", "metadata": {"k": 1}}]));
    }

    /// A question with a fallback must stay open for at least the time that the operator sets, here five minutes. In less time
    /// people cannot be expected to read a mail, so an agent with a shorter deadline would approve itself.
    async fn a_fallback_needs_the_window_the_operator_says(app: &mut TestApp) {
        app.restart_with(|config| config.asking.fallback_min_window_seconds = FALLBACK_MIN_WINDOW_SECONDS).await;
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let plain = |seconds: u32| json!({"timeout_seconds": seconds, "fallback_value": "approve", "fallback_policy": "complete_with_fallback"});
        let ladder = |attempts: u32| json!({
            "timeout_seconds": null, "fallback_value": "approve",
            "retry_policy": {"max_attempts": attempts, "interval_seconds": 299, "final_fallback_policy": "use_default_and_continue"},
        });
        for short in [plain(299), ladder(1)] {
            let refused = agent.suspend(intent, short).await;
            assert_eq!(refused.field_problem(), (422, "invalid", "timeout_seconds", "min"));
            assert!(refused.text.contains("at least 300 seconds (fallback.min_window_seconds)"), "{}", refused.text);
        }
        assert_eq!(agent.status(intent).await, "active");
        for long in [plain(300), ladder(2), json!({"timeout_seconds": 1})] {
            agent.ask(long).await;
        }
    }

    /// Only an active intent can be suspended. With a second open question it would be unclear which one an answer is for.
    async fn only_an_active_intent_can_be_suspended(app: &mut TestApp) {
        let agent = app.agent();
        let draft = agent.post("api/v1/intents", json!({"title": "t"})).await.ok();
        let draft: IntentId = draft["id"].as_str().unwrap().parse().unwrap();
        let suspended = agent.active_intent().await;
        let id = agent.asked(suspended).await;
        let completed = agent.active_intent().await;
        set_status(&agent, completed, "completed").await.ok();
        let abandoned = agent.active_intent().await;
        set_status(&agent, abandoned, "abandoned").await.ok();
        let blocked = agent.active_intent().await;
        set_status(&agent, blocked, "blocked").await.ok();
        for intent in [draft, suspended, completed, abandoned, blocked] {
            let before = agent.everything(intent).await;
            let refused = agent.suspend(intent, json!({})).await;
            assert_eq!(refused.problem(), (409, "not_active"));
            assert!(!refused.text.contains(&id));
            assert_eq!(agent.everything(intent).await, before);
        }
    }

    /// A superseded question cannot be answered. A person who holds its id is told that it was superseded, but not the new id.
    async fn a_newer_question_takes_the_place_of_the_open_one(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let first = agent.asked(intent).await;
        app.settle().await;
        app.advance(60).await;
        let second = agent.suspend(intent, json!({"supersedes": first, "question": "Half of it?"})).await.ok();
        let second = second["id"].as_str().unwrap();
        assert_ne!(second, first);
        let old = agent.suspension(&first).await;
        assert_eq!((&old["resolution"], &old["resolution_reason"]), (&json!("cancelled"), &json!("superseded")));
        assert_eq!((&old["version"], &old["responded_at"]), (&json!(2), &json!(null)));
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");
        app.settle().await;
        assert_eq!(agent.event_types(intent).await, [
            "intent_created", "intent.suspended", "status_changed", "delivery.sent",
            "intent.suspension_cancelled", "intent.suspended", "delivery.sent",
        ]);
        let refused = operator.respond(intent, &first, "approve").await;
        assert_eq!(refused.problem(), (409, "already_resolved"));
        assert_eq!(refused.body["resolution_reason"], json!("superseded"));
        assert_eq!(refused.body["resolved_at"], json!("2026-11-24T08:01:00.000000"));
        assert!(!refused.text.contains(second));
        app.advance(3540).await; // The deadline of the first question has no effect any more.
        assert_eq!(agent.suspension(second).await["resolution"], json!(null));
        app.advance(60).await;
        assert_eq!(agent.suspension(second).await["resolution"], json!("expired"));
    }

    /// A request to supersede must name the open question. Otherwise it could replace a question that the asker has not seen.
    async fn superseding_anything_but_the_open_question_is_refused(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let nothing = "00000000-0000-0000-0000-000000000000";
        let supersede = async |id: &str| agent.suspend(intent, json!({"supersedes": id})).await;
        assert_eq!(supersede(nothing).await.problem(), (409, "not_suspended"));
        let first = agent.asked(intent).await;
        operator.respond(intent, &first, "deny").await.ok();
        let answered = supersede(&first).await;
        assert_eq!(answered.problem(), (409, "already_resolved"));
        // Placet's own routes write times with `Z`.
        assert_eq!(answered.body["resolved_at"], json!("2026-11-24T08:00:00.000000Z"));
        let open = agent.asked(intent).await;
        app.settle().await;
        let before = agent.everything(intent).await;
        for (wrong, code) in [(nothing, "suspension_mismatch"), ("x", "suspension_mismatch"), (first.as_str(), "already_resolved")] {
            let refused = supersede(wrong).await;
            assert_eq!(refused.problem(), (409, code));
            assert!(!refused.text.contains(&open));
        }
        assert_eq!(agent.everything(intent).await, before);
        app.clock.jump(chrono::TimeDelta::seconds(3600));
        let late = supersede(&open).await;
        assert_eq!(late.problem(), (409, "expired")); // The deadline ended the question before the asker could.
        assert_eq!(late.body["expired_at"], json!("2026-11-24T09:00:00.000000Z"));
        assert_eq!(agent.status(intent).await, "abandoned");
    }

    /// The asker or an admin may withdraw a question. The intent goes on, and the question can no longer be answered.
    async fn the_asker_and_an_admin_withdraw_and_nobody_else(app: &mut TestApp) {
        let (agent, admin, operator) = (app.agent(), app.api(Role::Admin), app.operator());
        let stranger = Api::new(&app.base, Some(&app.new_key(Role::Agent, "other-agent").await));
        for by in [&agent, &admin] {
            let intent = agent.active_intent().await;
            let id = agent.asked(intent).await;
            app.settle().await;
            let before = agent.everything(intent).await;
            for role in [Role::Operator, Role::Auditor, Role::Channel] {
                assert_eq!(cancel(&app.api(role), &id, json!({})).await.problem(), (403, "forbidden"), "{role}");
            }
            assert_eq!(cancel(&stranger, &id, json!({})).await.problem(), (404, "not_found"));
            assert_eq!(cancel(by, &id, json!({"reason": "x".repeat(2001)})).await.field_problem().2, "reason");
            assert_eq!(cancel(by, &id, json!({"why": "?"})).await.field_problem(), (422, "invalid", "why", "unknown"));
            assert_eq!(agent.everything(intent).await, before);

            let reply = cancel(by, &id, json!({"reason": "x".repeat(2000)})).await;
            assert_eq!(reply.headers["etag"], "\"2\"");
            let record = reply.ok();
            assert_eq!((&record["resolution"], &record["resolution_reason"]), (&json!("cancelled"), &json!("withdrawn")));
            assert_eq!((&record["responded_by"], &record["response"]), (&json!(null), &json!(null)));
            assert_eq!(agent.status(intent).await, "active");
            let refused = operator.respond(intent, &id, "approve").await;
            assert_eq!(refused.problem(), (409, "already_resolved"));
            assert_eq!((&refused.body["resolution"], &refused.body["resolution_reason"]), (&json!("cancelled"), &json!("withdrawn")));
            assert!(refused.body["resolved_by"].is_string());
            let again = cancel(by, &id, json!({})).await;
            assert_eq!(again.problem(), (409, "already_resolved"));
            assert_eq!(again.headers["content-type"], "application/problem+json");
            assert_eq!(again.body["resolved_at"], json!("2026-11-24T08:00:00.000000Z"));
        }
    }

    /// A question that ended by an answer or its deadline cannot be withdrawn, so that its ending stays as it was.
    async fn an_ended_question_cannot_be_withdrawn(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        operator.respond(intent, &id, "approve").await.ok();
        let refused = cancel(&agent, &id, json!({})).await;
        assert_eq!((refused.problem(), &refused.body["resolution"]), ((409, "already_resolved"), &json!("responded")));
        let second = agent.asked(intent).await;
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(3600)); // The timer has not run yet.
        assert_eq!(cancel(&agent, &second, json!({})).await.problem(), (409, "expired"));
        assert_eq!(agent.suspension(&second).await["resolution"], json!("expired"));
        for unknown in ["00000000-0000-0000-0000-000000000000", "x"] {
            assert_eq!(cancel(&agent, unknown, json!({})).await.problem(), (404, "not_found"));
        }
    }

    /// The asker may abandon a suspended intent, which withdraws the question. It may not set the intent to active, since that
    /// would answer its own question.
    async fn a_suspended_intent_is_given_up_by_its_asker_and_lifted_by_an_admin_only(app: &mut TestApp) {
        let (agent, admin, operator) = (app.agent(), app.api(Role::Admin), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        app.settle().await;
        let before = agent.everything(intent).await;
        assert_eq!(set_status(&agent, intent, "active").await.problem(), (403, "forbidden"));
        for status in ["completed", "blocked", "draft"] {
            assert_eq!(set_status(&agent, intent, status).await.problem(), (409, "invalid_transition"), "{status}");
        }
        assert_eq!(set_status(&agent, intent, "suspended_awaiting_input").await.problem(), (409, "use_suspend"));
        assert_eq!(set_status(&operator, intent, "abandoned").await.problem(), (403, "forbidden"));
        assert_eq!(agent.everything(intent).await, before);

        set_status(&agent, intent, "abandoned").await.ok();
        let record = agent.suspension(&id).await;
        assert_eq!((&record["resolution"], &record["resolution_reason"]), (&json!("cancelled"), &json!("withdrawn")));
        assert_eq!(agent.status(intent).await, "abandoned");
        app.advance(3600).await; // The deadline of a withdrawn question has no effect.
        assert_eq!(agent.event_types(intent).await[4..], ["intent.suspension_cancelled", "status_changed"]);

        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        assert_eq!(set_status(&admin, intent, "active").await.ok()["status"], json!("active"));
        assert_eq!(agent.suspension(&id).await["resolution_reason"], json!("withdrawn"));
        assert_eq!(operator.respond(intent, &id, "approve").await.problem(), (409, "already_resolved"));
        // The intent is not suspended any more, so the admin has nothing to lift.
        assert_eq!(set_status(&admin, intent, "completed").await.problem(), (403, "forbidden"));
    }

    /// The OpenIntent client for Python begins a suspension by setting the status. With an ordinary key this is refused and the
    /// reply names the right route, because the intent would wait without a question on record.
    async fn suspending_by_status_is_told_the_way(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let refused = set_status(&agent, intent, "suspended_awaiting_input").await;
        assert_eq!(refused.problem(), (409, "use_suspend"));
        assert!(refused.body["detail"].as_str().unwrap().contains("/suspend"));
        assert_eq!(agent.status(intent).await, "active");
    }

    /// `If-Match` is optional here, but is checked if given: for asking against the intent's version, for cancelling against the
    /// record's.
    async fn a_version_that_is_named_counts(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let path = format!("api/v1/intents/{intent}/suspend");
        let body = json!({"question": "Go?", "response_type": "confirm"});
        let stale = agent.post_at(&path, "2", body.clone()).await;
        assert_eq!((stale.problem(), &stale.body["current_version"]), ((409, "version_conflict"), &json!(1)));
        assert_eq!(agent.post_at(&path, "x", body.clone()).await.problem(), (400, "if_match_required"));
        let asked = agent.post_at(&path, "1", body).await.ok();
        let id = asked["id"].as_str().unwrap();

        let respond = format!("api/v1/intents/{intent}/suspend/respond");
        let answer = json!({"suspension_id": id, "value": "yes"});
        let stale = operator.post_at(&respond, "1", answer.clone()).await;
        assert_eq!((stale.problem(), &stale.body["current_version"]), ((409, "version_conflict"), &json!(2)));
        operator.post_at(&respond, "\"2\"", answer).await.ok();

        let second = agent.asked(intent).await;
        let path = format!("api/v1/suspensions/{second}/cancel");
        let etag = agent.get(&format!("api/v1/suspensions/{second}")).await.headers["etag"].to_str().unwrap().to_owned();
        let stale = agent.post_at(&path, "7", json!({})).await;
        assert_eq!((stale.problem(), &stale.body["current_version"]), ((409, "version_conflict"), &json!(1)));
        agent.post_at(&path, &etag, json!({})).await.ok();
    }
}
