//! Questions that seem to hold a secret: the asker is warned or refused, and the secret is never repeated.

use domain::asking::policy::AskingPolicy;
use domain::suspension::seeming::SeemingSecret;
use harness::app::{TestApp, asking_policy};
use harness::on_each_store;
use serde_json::{Value, json};

/// A key that is put together here, so that scanners do not take this file for a leak.
fn key() -> String {
    format!("{}IOSFODNN7EXAMPLE", "AKIA")
}

fn careless() -> Value {
    json!({
        "question": format!("Deploy with {}?", key()),
        "choices": [{"value": "yes", "label": "Yes", "description": "card 4111 1111 1111 1111"}, {"value": "no", "label": "No", "metadata": {"note": key()}}],
        "decision_record": {"rationale": "DB_PASSWORD=hunter2 was in the log"},
        "context": {"database": {"password": "hunter2"}, "order": "12345", "who": "alice@example.com, +49 30 123456"},
        "timeout_seconds": 60,
    })
}

on_each_store! {
    /// The asker is told which field to look at. The secret itself is repeated nowhere but in the question.
    async fn what_looks_like_a_secret_is_warned_of_by_place_and_shape(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let asked = agent.suspend(intent, careless()).await.ok();
        let warnings = json!([
            "question looks like an AWS access key; a question is no place for one",
            "choices[0].description looks like the number of a payment card; a question is no place for one",
            "choices[1].metadata.note looks like an AWS access key; a question is no place for one",
            "context.database.password looks like a password or a key; a question is no place for one",
            "decision_record.rationale looks like a password or a key; a question is no place for one",
        ]);
        assert_eq!(asked["warnings"], warnings);
        assert_eq!(agent.post("api/v1/suspensions/preview", careless()).await.ok()["warnings"], warnings);
        // The warning is not part of the record, so later readers do not see it.
        assert_eq!(agent.suspension(asked["id"].as_str().unwrap_or_default()).await.get("warnings"), None);
        let harmless = agent.suspend(agent.active_intent().await, json!({"context": {"commit": "4f2a91c", "order": 12345}})).await.ok();
        assert_eq!(harmless.get("warnings"), None);
    }

    /// Every mail shows the intent's title in its subject, so asking a question also checks the title for secrets. The asker
    /// may overlook the title, because the request that asks does not hold it.
    async fn a_secret_in_the_title_of_the_intent_is_found_when_it_asks(app: &mut TestApp) {
        let strict = TestApp::start_with(|config| config.asking.seeming_secret = SeemingSecret::Refuse).await;
        for app in [&*app, &strict] {
            let agent = app.agent();
            let title = format!("Deploy with {}", key());
            let intent = agent.post("api/v1/intents", json!({"title": title, "status": "active"})).await.ok();
            let intent = intent["id"].as_str().unwrap_or_default().parse().unwrap_or_else(|_| panic!("{intent}"));
            let asked = agent.suspend(intent, json!({})).await;
            if app.base == strict.base {
                assert_eq!(asked.field_problem(), (422, "invalid", "intent.title", "secret"));
                assert!(!asked.text.contains(&key()));
                assert_eq!(agent.status(intent).await, "active");
            } else {
                let warning = "intent.title looks like an AWS access key; a question is no place for one";
                let asked = asked.ok();
                assert_eq!(asked["warnings"], json!([warning]));
                assert_eq!(agent.suspension(asked["id"].as_str().unwrap_or_default()).await.get("warnings"), None);
            }
        }
        strict.finish().await;
    }

    /// A server may refuse instead: no person is asked, nothing is kept, and the refusal does not hold the secret.
    async fn a_server_that_refuses_secrets_keeps_none(_app: &mut TestApp) {
        let strict = TestApp::start_with(|config| {
            config.asking = AskingPolicy { seeming_secret: SeemingSecret::Refuse, ..asking_policy() };
        })
        .await;
        let agent = strict.agent();
        let intent = agent.active_intent().await;
        let before = agent.everything(intent).await;
        let preview = agent.post("api/v1/suspensions/preview", careless()).await;
        let refused = agent.suspend(intent, careless()).await;
        for reply in [&preview, &refused] {
            assert_eq!(reply.field_problem(), (422, "invalid", "question", "secret"), "{}", reply.text);
            let fields: Vec<&str> = reply.body["errors"].as_array().into_iter().flatten().filter_map(|error| error["field"].as_str()).collect();
            let expected = ["question", "choices[0].description", "choices[1].metadata.note", "context.database.password"];
            assert_eq!(fields, [&expected[..], &["decision_record.rationale"]].concat());
            assert!(!reply.text.contains(&key()) && !reply.text.contains("hunter2") && !reply.text.contains("4111"), "{}", reply.text);
        }
        // A field that breaks its own rule is refused for that first: a text that is too large is not searched.
        let mut large = careless();
        large["context"]["pad"] = json!("x".repeat(64 * 1024));
        let refused = agent.suspend(intent, large).await;
        assert_eq!(refused.field_problem(), (422, "invalid", "context", "length"), "{}", refused.text);
        assert_eq!(refused.body["errors"].as_array().map(Vec::len), Some(1), "{}", refused.text);
        let fallback = json!({"response_type": "text", "choices": [], "fallback_policy": "complete_with_fallback", "fallback_value": key()});
        assert_eq!(agent.suspend(intent, fallback).await.field_problem(), (422, "invalid", "fallback_value", "secret"));
        assert_eq!(agent.everything(intent).await, before);
        agent.suspend(intent, json!({})).await.ok();
        strict.finish().await;
    }
}
