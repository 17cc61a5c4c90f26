//! Repeated requests: a repeat must be recognised, must get the same reply, and must change nothing.

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::{Api, Reply};
use harness::on_each_store;
use serde_json::{Value, json};

fn question() -> Value {
    json!({"question": "Go?", "response_type": "confirm", "timeout_seconds": 600})
}

async fn suspend(api: &Api, intent: IntentId, key: &str, body: Value) -> Reply {
    api.post_once(&format!("api/v1/intents/{intent}/suspend"), key, body).await
}

/// Posts with an idempotency key, and with `version` as the value of `If-Match`.
async fn post(api: &Api, path: &str, key: &str, version: &str, body: &Value) -> Reply {
    let request = api.request("POST", path).header("idempotency-key", key).header("if-match", version);
    api.send(request.json(body)).await
}

on_each_store! {
    /// An agent that lost the reply asks again. It must get its own question with its current state, and no person may be asked
    /// twice.
    async fn a_repeated_question_shows_the_current_record_for_ever(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let first = suspend(&agent, intent, "k1", question()).await;
        assert!(!first.headers.contains_key("idempotency-replayed"));
        let first = first.ok();
        let id = first["id"].as_str().unwrap();
        let repeated = suspend(&agent, intent, "k1", question()).await;
        // The record is the same, so only the header says that the question was found and not asked again.
        assert_eq!(repeated.headers["idempotency-replayed"], "true");
        assert_eq!(repeated.ok(), first);
        // Spaces and the order of fields do not change the content.
        let spaced = r#"{ "timeout_seconds":600, "response_type":"confirm" , "question":"\u0047o?" }"#;
        let request = agent.request("POST", &format!("api/v1/intents/{intent}/suspend")).header("idempotency-key", "k1");
        let again = agent.send(request.header("content-type", "application/json").body(spaced)).await.ok();
        assert_eq!(again, first);
        app.settle().await;
        let asked = agent.everything(intent).await;
        assert_eq!(app.smtp.received().len(), 1);

        operator.respond(intent, id, "yes").await.ok();
        let answered = agent.suspension(id).await;
        assert_eq!((&answered["resolution"], &answered["version"]), (&json!("responded"), &json!(2)));
        app.restart().await;
        app.advance(40 * 86_400).await;
        app.store().forget_expired().await.unwrap();
        let replayed = suspend(&agent, intent, "k1", question()).await;
        assert_eq!(replayed.headers["etag"], "\"3\""); // The intent's version, for the next write to the intent.
        assert_eq!(replayed.ok(), answered); // This is no new question, although the intent is active again.
        // The version at which the question was asked no longer matters.
        let path = format!("api/v1/intents/{intent}/suspend");
        assert_eq!(post(&agent, &path, "k1", "1", &question()).await.ok(), answered);
        assert_eq!(agent.events(intent).await.len(), asked.1.len() + 2);
        assert_eq!(app.smtp.received().len(), 1);
    }

    /// A key that was used for another question is refused, so that the new question cannot be mistaken for the old one.
    async fn a_key_used_for_another_question_is_refused(app: &mut TestApp) {
        let agent = app.agent();
        let (intent, other) = (agent.active_intent().await, agent.active_intent().await);
        let first = suspend(&agent, intent, "k1", question()).await.ok();
        let before = agent.everything(intent).await;
        let mut changed = question();
        changed["question"] = json!("Stop?");
        let mut longer = question();
        longer["timeout_seconds"] = json!(601);
        let broken = json!({"question": ""}); // The key is checked before the fields.
        for (on, body) in [(intent, changed), (intent, longer), (intent, broken), (other, question())] {
            assert_eq!(suspend(&agent, on, "k1", body).await.problem(), (422, "idempotency_mismatch"));
        }
        assert_eq!(agent.everything(intent).await, before);
        assert_eq!(agent.status(other).await, "active");
        assert_eq!(suspend(&agent, intent, "k2", question()).await.problem(), (409, "not_active"));
        let second = suspend(&agent, other, "k2", question()).await.ok(); // A refused request does not use up its key.
        assert_ne!(second["id"], first["id"]);
    }

    /// An agent whose words differ after each restart finds its question by the key. No other agent or person can find it by that
    /// key.
    async fn a_question_is_listed_by_the_key_it_was_asked_under(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let first = suspend(&agent, intent, "k 1", question()).await.ok();
        let list = |key: &str, more: &str| format!("api/v1/suspensions?idempotency_key={key}{more}");
        let listed = async |api: &Api, path: String| api.get(&path).await.ok()["suspensions"].as_array().unwrap().clone();
        assert_eq!(listed(&agent, list("k%201", "")).await[0]["id"], first["id"]);
        assert!(listed(&agent, list("k", "")).await.is_empty());
        // Keys belong to the agent. An operator who may read the question finds nothing by the agent's key.
        assert!(listed(&operator, list("k%201", "")).await.is_empty());
        operator.respond(intent, first["id"].as_str().unwrap(), "yes").await.ok();
        app.restart().await;
        let (ended, cursor) = (listed(&agent, list("k%201", "")).await, list("k%201", "&cursor=-999999999"));
        assert_eq!((&ended[0]["id"], &ended[0]["resolution"]), (&first["id"], &json!("responded")));
        assert_eq!(ended.len(), 1);
        assert!(listed(&agent, list("k%201", "&state=open")).await.is_empty());
        assert!(listed(&agent, cursor).await.is_empty());
    }

    /// An agent that creates the intent and its question with one key finds both for a day. After that, the key must not ask
    /// people again.
    async fn after_a_day_a_key_for_intent_and_question_asks_nobody(app: &mut TestApp) {
        let agent = app.agent();
        let ask = async || {
            let intent = agent.post_once("api/v1/intents", "deploy-7", json!({"title": "T", "status": "active"})).await.ok();
            suspend(&agent, intent["id"].as_str().unwrap().parse().unwrap(), "deploy-7", question()).await
        };
        let first = ask().await.ok();
        app.settle().await;
        app.advance(86_399).await;
        assert_eq!(ask().await.ok()["id"], first["id"]);
        app.advance(1).await;
        assert_eq!(ask().await.problem(), (422, "idempotency_mismatch"));
        app.settle().await;
        assert_eq!(app.smtp.received().len(), 1);
    }

    /// A key belongs to the agent's name: another agent can use the same key, and a rotated credential is the same agent.
    async fn a_key_belongs_to_the_agents_name(app: &mut TestApp) {
        let agent = app.agent();
        let other = Api::new(&app.base, Some(&app.new_key_of(Role::Agent, "other-agent", "test-agent").await));
        let rotated = Api::new(&app.base, Some(&app.new_key(Role::Agent, "test-agent").await));
        let (mine, theirs) = (agent.active_intent().await, other.active_intent().await);
        let first = suspend(&agent, mine, "k1", question()).await.ok();
        let second = suspend(&other, theirs, "k1", question()).await.ok();
        assert_ne!(first["id"], second["id"]);
        assert_eq!(suspend(&rotated, mine, "k1", question()).await.ok(), first);
        // An agent that may not see the intent is not told that the key was used.
        assert_eq!(suspend(&other, mine, "k1", question()).await.problem(), (404, "not_found"));
    }

    /// A repeated request to supersede finds the question it asked. It must not supersede that newer question.
    async fn a_repeated_supersede_finds_the_question_it_asked(app: &mut TestApp) {
        let agent = app.agent();
        let intent = agent.active_intent().await;
        let first = agent.asked(intent).await;
        let mut body = question();
        body["supersedes"] = json!(first);
        let second = suspend(&agent, intent, "k1", body.clone()).await.ok();
        let before = agent.everything(intent).await;
        assert_eq!(suspend(&agent, intent, "k1", body).await.ok(), second);
        assert_eq!(agent.everything(intent).await, before);
    }

    /// All other writes return the same bytes for a day, even if the record has changed since, and have no second effect.
    async fn every_other_write_is_replayed_byte_for_byte_for_a_day(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        let doomed = agent.active_intent().await;
        let doomed_id = agent.asked(doomed).await;
        let path = format!("api/v1/intents/{intent}");
        let floats = json!({"confidence": 0.1, "title": "\u{0}é", "state": {"f": 31.245_270_191_439_438, "e": 1e-7, "z": 1.0}});
        let writes: Vec<(&Api, String, &str, Value)> = vec![
            (&agent, "api/v1/intents".into(), "1", floats),
            (&agent, format!("{path}/state"), "2", json!({"state": {"pi": 0.123_456_789_012_345}})),
            (&agent, format!("{path}/events"), "3", json!({"event_type": "comment", "payload": {"n": 0.1}})),
            (&operator, format!("{path}/suspend/respond"), "3", json!({"suspension_id": id, "value": "approve"})),
            (&agent, format!("{path}/leases"), "4", json!({"scope": "s"})),
            (&agent, format!("{path}/status"), "4", json!({"status": "completed"})),
            (&agent, format!("api/v1/suspensions/{doomed_id}/cancel"), "1", json!({"reason": "changed my mind"})),
        ];
        let mut first = Vec::new();
        for (api, path, version, body) in &writes {
            let reply = post(api, path, "k1", version, body).await; // One key for all routes: each route has its own keys.
            assert_eq!(reply.status, 200, "{path}: {}", reply.text);
            first.push(reply);
        }
        app.settle().await;
        let before = agent.everything(intent).await;
        app.restart().await;
        app.advance(86_399).await;
        app.store().forget_expired().await.unwrap();
        for ((api, path, version, body), first) in writes.iter().zip(&first) {
            let again = post(api, path, "k1", version, body).await;
            assert_eq!((again.status, &again.text), (200, &first.text), "{path}");
            assert_eq!(again.headers.get("etag"), first.headers.get("etag"), "{path}");
            let mut other = body.clone();
            other["title"] = json!("another");
            // The key is checked before the rules for the body.
            other["state"] = json!({"_suspension": {}});
            assert_eq!(post(api, path, "k1", version, &other).await.problem(), (422, "idempotency_mismatch"), "{path}");
        }
        assert_eq!(agent.everything(intent).await, before);
        app.advance(1).await;
        let codes: Vec<u16> = {
            let mut codes = Vec::new();
            for (api, path, version, body) in &writes {
                codes.push(post(api, path, "k1", version, body).await.status);
            }
            codes
        };
        // After a day each request is new: a second intent is created, and the others conflict with the changes made since.
        assert_eq!(codes, [200, 409, 409, 409, 409, 409, 409]);
        assert_eq!(agent.get("api/v1/intents").await.ok()["intents"].as_array().unwrap().len(), 4);
    }

    /// A refusal is not kept as a result: the same key must work for the corrected request.
    async fn a_refused_request_uses_up_no_key(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let intent = agent.active_intent().await;
        let id = agent.asked(intent).await;
        let path = format!("api/v1/intents/{intent}/suspend/respond");
        let wrong = json!({"suspension_id": id, "value": "maybe"});
        for _ in 0..2 {
            assert_eq!(operator.post_once(&path, "k1", wrong.clone()).await.problem(), (422, "invalid_choice"));
        }
        let right = json!({"suspension_id": id, "value": "approve"});
        let accepted = operator.post_once(&path, "k1", right.clone()).await.ok();
        assert_eq!(operator.post_once(&path, "k1", right.clone()).await.ok(), accepted);
        // Without the key, or with another one, the same answer counts as a second answer.
        assert_eq!(operator.post(&path, right.clone()).await.problem(), (409, "already_resolved"));
        assert_eq!(operator.post_once(&path, "k2", right.clone()).await.problem(), (409, "already_resolved"));
        // Another operator's key of the same name is a different key.
        let other = Api::new(&app.base, Some(&app.new_key(Role::Operator, "second").await));
        assert_eq!(other.post_once(&path, "k1", right).await.problem(), (409, "already_resolved"));
    }

    /// The header's length is bounded like that of any field, and an error names the header.
    async fn a_key_has_a_length(app: &mut TestApp) {
        let agent = app.agent();
        let body = json!({"title": "t"});
        for wrong in ["", &"k".repeat(256)] {
            let refused = agent.post_once("api/v1/intents", wrong, body.clone()).await;
            assert_eq!(refused.field_problem(), (422, "invalid", "Idempotency-Key", "length"));
        }
        let request = agent.request("POST", "api/v1/intents").header("idempotency-key", &b"\xe9"[..]).json(&body);
        assert_eq!(agent.send(request).await.field_problem().2, "Idempotency-Key");
        assert_eq!(agent.get("api/v1/intents").await.ok()["intents"], json!([]));
        let longest = "k".repeat(255);
        let first = agent.post_once("api/v1/intents", &longest, body.clone()).await.ok();
        assert_eq!(agent.post_once("api/v1/intents", &longest, body).await.ok(), first);
    }
}
