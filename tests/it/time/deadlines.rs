//! Silence, with all its endings.

use harness::on_each_store;
use serde_json::json;

on_each_store! {
    /// If no person answers, the fallback applies at the deadline, exactly once. Otherwise an agent would wait for ever or act
    /// twice.
    async fn unanswered_question_falls_back_exactly_once(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let fallback = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "deny"});
        let asked = agent.suspend(intent, fallback).await.ok();
        let id = asked["id"].as_str().unwrap();

        app.advance(3599).await; // One second early, nothing may change.
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input");

        app.restart().await; // The deadline must not live in memory.
        app.advance(1).await;
        let ended = agent.suspension(id).await;
        assert_eq!((&ended["resolution"], &ended["response"]), (&json!("expired"), &json!("deny")));
        assert_eq!(ended["responded_by"], json!(null));
        assert_eq!(agent.status(intent).await, "active");

        app.advance(86_400).await; // And nothing happens twice.
        let late = operator.respond(intent, id, "approve").await;
        assert_eq!(late.problem(), (409, "expired"));
        assert_eq!(
            agent.event_types(intent).await,
            [
                "intent_created", "intent.suspended", "status_changed", "delivery.sent",
                "intent.suspension_expired", "status_changed", "intent.late_answer",
            ]
        );
    }

    /// `use_default_and_continue` is another name for `complete_with_fallback` and has the same effect.
    async fn the_alias_falls_back_too(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let fallback = json!({"fallback_policy": "use_default_and_continue", "fallback_value": "approve"});
        let id = agent.suspend(intent, fallback).await.ok()["id"].as_str().unwrap().to_owned();
        app.settle().await;
        app.advance(3600).await;
        let ended = agent.suspension(&id).await;
        assert_eq!((&ended["resolution"], &ended["response"]), (&json!("expired"), &json!("approve")));
        assert_eq!(agent.status(intent).await, "active");
    }

    /// `fail` means that the agent must not go on: the intent is abandoned, and records why.
    async fn fail_abandons(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        app.settle().await;
        app.advance(3600).await;
        let ended = agent.suspension(&id).await;
        assert_eq!((&ended["resolution"], &ended["response"]), (&json!("expired"), &json!(null)));
        assert_eq!(agent.status(intent).await, "abandoned");
        let events = agent.events(intent).await;
        let last = &events.last().unwrap()["payload"];
        assert_eq!(last["abandonment_reason"], json!("suspension_expired"));
    }

    /// An outage of ours must not become consent: if no person was reached there is no fallback, whatever the agent asked for.
    async fn an_undeliverable_question_never_falls_back(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let fallback = json!({"fallback_policy": "complete_with_fallback", "fallback_value": "approve"});
        let id = agent.suspend(intent, fallback).await.ok()["id"].as_str().unwrap().to_owned();
        app.smtp.script(harness::smtp::Fault::RejectRecipient);
        app.settle().await;
        assert_eq!(agent.status(intent).await, "suspended_awaiting_input"); // The deadline decides, and nothing before it.
        app.advance(3600).await;
        let ended = agent.suspension(&id).await;
        assert_eq!((&ended["resolution"], &ended["resolution_reason"]), (&json!("cancelled"), &json!("undeliverable")));
        assert_eq!(ended["response"], json!(null));
        assert_eq!(agent.status(intent).await, "abandoned");
        assert_eq!(
            agent.event_types(intent).await,
            [
                "intent_created", "intent.suspended", "status_changed", "delivery.failed",
                "intent.suspension_undeliverable", "intent.suspension_expired", "status_changed",
            ]
        );
    }

    /// An answer counts until the deadline and not a microsecond longer, whether or not the timer ran.
    async fn an_answer_at_the_deadline_is_late_even_before_the_timer_runs(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(3600)); // No worker runs here.
        let late = operator.respond(intent, &id, "approve").await;
        assert_eq!(late.problem(), (409, "expired"));
        // The late answer itself made the deadline take effect.
        assert_eq!(agent.status(intent).await, "abandoned");
        assert_eq!(agent.event_types(intent).await.last().unwrap(), "intent.late_answer");
    }

    async fn an_answer_a_microsecond_early_counts(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        app.settle().await;
        app.clock.jump(chrono::TimeDelta::seconds(3600) - chrono::TimeDelta::microseconds(1));
        assert_eq!(operator.respond(intent, &id, "approve").await.status, 200);
    }

    /// A clock that runs backwards fires nothing twice and never dates an event before the one it follows.
    async fn a_backward_jump_changes_nothing(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        app.settle().await;
        app.advance(-7200).await;
        assert_eq!(operator.respond(intent, &id, "approve").await.status, 200);
        app.advance(20_000).await;
        let events = agent.events(intent).await;
        let times: Vec<&str> = events.iter().map(|event| event["created_at"].as_str().unwrap()).collect();
        assert!(times.is_sorted(), "{times:?}");
        assert_eq!(agent.status(intent).await, "active");
    }
}
