//! The two hashes beside an answer: a stranger computes them from what was served while the question was open.

#![expect(clippy::unwrap_used, reason = "clippy.toml permits it in tests, and these functions serve tests alone")]

use domain::base::ids::IntentId;
use domain::base::json::canonical;
use domain::log::Hash;
use harness::api::Api;
use harness::on_each_store;
use serde_json::{Value, json};

/// The hashes that a reader computes who has only the served record of the open question. The names of the members are written out
/// here again, as `docs/log-format.md` lists them.
fn computed(record: &Value, asked_by: &str) -> (String, String) {
    let hash = |value: &Value| Hash::of(&canonical(value).unwrap()).to_string();
    let choices = record["choices"].as_array().unwrap();
    let choices: Vec<Value> = choices
        .iter()
        .map(|choice| {
            let mut shown = json!({"value": choice["value"], "label": choice["label"]});
            if let Some(description) = choice.get("description") {
                shown["description"] = description.clone();
            }
            shown
        })
        .collect();
    let deadline = record["expires_at"].as_str().map(|at| at.trim_end_matches('Z'));
    let presented = json!({
        "form": 2, "question": record["question"], "response_type": record["response_type"], "choices": choices,
        "context": record["context"], "fallback_policy": record["fallback_policy"], "fallback_value": record["fallback_value"],
        "deadline": deadline, "asked_by": asked_by,
    });
    (hash(&record["context"]), hash(&presented))
}

fn hashes(answer: &Value) -> (String, String) {
    let text = |name: &str| answer[name].as_str().unwrap_or_else(|| panic!("no {name} in {answer}")).to_owned();
    (text("action_digest"), text("presented_hash"))
}

async fn asked(agent: &Api, change: Value) -> (IntentId, String) {
    let intent = agent.active_intent().await;
    let record = agent.suspend(intent, change).await.ok();
    (intent, record["id"].as_str().unwrap().to_owned())
}

on_each_store! {
    /// The response, the event, and the response to the repeated request hold the hashes of the question as it was served.
    async fn an_answer_carries_the_hashes_of_what_was_served(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let context = json!({"amount": 412.5, "to": "Ærø ☃", "nested": {"b": [1, null, true], "a": 0.1}});
        let (intent, id) = asked(&agent, json!({"context": context, "timeout_seconds": 600, "fallback_policy": "complete_with_fallback", "fallback_value": "deny"})).await;
        let served = agent.suspension(&id).await;
        let path = format!("api/v1/intents/{intent}/suspend/respond");
        let body = json!({"suspension_id": id, "value": "approve"});
        let answer = operator.post_once(&path, "evidence-1", body.clone()).await.ok();
        assert_eq!(hashes(&answer), computed(&served, "test-agent"));
        app.restart().await;
        let again = app.operator().post_once(&path, "evidence-1", body).await.ok();
        assert_eq!(again, answer);
        let events = app.agent().events(intent).await;
        let resumed = events.iter().find(|event| event["event_type"] == "intent.resumed").unwrap();
        assert_eq!(hashes(&resumed["payload"]), hashes(&answer));
    }

    /// A deadline that was moved is a fact that was shown, so the hash of what was shown is another one, and that of the action is not.
    async fn a_moved_deadline_changes_only_what_was_presented(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = asked(&agent, json!({"timeout_seconds": 600})).await;
        let before = computed(&agent.suspension(&id).await, "test-agent");
        operator.post(&format!("api/v1/suspensions/{id}/extend"), json!({"seconds": 300})).await.ok();
        let after = computed(&agent.suspension(&id).await, "test-agent");
        assert_eq!((before.0 == after.0, before.1 == after.1), (true, false));
        let answer = operator.respond(intent, &id, "deny").await.ok();
        assert_eq!(hashes(&answer), after);
    }

    /// A question without context, deadline and choices has hashes as well.
    async fn a_bare_question_has_hashes(app: &mut TestApp) {
        let (agent, operator) = (app.agent(), app.operator());
        let (intent, id) = asked(&agent, json!({"response_type": "text", "choices": [], "context": {}})).await;
        let served = agent.suspension(&id).await;
        assert_eq!(hashes(&operator.respond(intent, &id, "as typed").await.ok()), computed(&served, "test-agent"));
    }
}
