//! The members of requests that stop an intent, and let it go on.

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::Reply;
use harness::app::TestApp;
use serde_json::{Value, json};

use super::Member;

pub(super) fn members() -> Vec<Member> {
    let none = json!({});
    vec![
        Member::of("PauseRequest", &none, "mode", json!("interrupt_immediate")),
        Member::of("PauseRequest", &none, "reason", json!("r")),
        Member::of("ParkRequest", &json!({}), "reason", json!("r")).answered(200),
        Member::of("ParkRequest", &json!({"reason": "r"}), "conditions", json!({"on_event": "go"})),
        Member::of("ParkRequest", &json!({"reason": "r"}), "resume_owner", json!("external")),
        Member::of("FireRequest", &json!({"name": "other"}), "name", json!("go")),
        Member::of("FireRequest", &json!({"name": "go"}), "payload", json!({"a": 1})),
        Member::of("SettleRequest", &none, "stage", json!("quiescing")),
        Member::of("SettleRequest", &none, "handoff", json!({"a": 1})).answered(409),
        Member::of("BroadcastRequest", &none, "ids", json!([])),
        Member::of("BroadcastRequest", &json!({"ids": []}), "filter", json!({})).answered(422),
        Member::of("BroadcastRequest", &none, "mode", json!("interrupt_immediate")),
        Member::of("BroadcastRequest", &none, "reason", json!("r")),
        Member::of("BroadcastFilter", &json!({"created_by": "test-admin", "limit": 1}), "created_by", json!("test-agent")),
        Member::of("BroadcastFilter", &json!({"created_by": "test-admin"}), "after", json!("x")).refused(),
        Member::of("BroadcastFilter", &json!({"created_by": "test-admin"}), "limit", json!(0)).refused(),
        Member::of("StopRequest", &none, "graceful", json!(false)),
        Member::of("StopRequest", &none, "reason", json!("r")),
        Member::of("ResumeRequest", &none, "input", json!({"a": 1})),
        Member::of("ResumeRequest", &none, "continue_transcript", json!(false)),
        Member::of("VerifyLifecycleRequest", &none, "receipt", json!({"kind": "drain_decision_receipt"})).answered(200),
        Member::of("VerifyLifecycleRequest", &json!({"receipt": {"kind": "drain_decision_receipt"}}), "prompt", json!("p")),
        Member::of("ResumeRequest", &none, "handle", json!("another")).answered(409),
    ]
}

/// The bodies that [`sent`] sends.
pub(super) const SENT: [&str; 7] =
    ["PauseRequest", "ParkRequest", "StopRequest", "FireRequest", "SettleRequest", "ResumeRequest", "VerifyLifecycleRequest"];

/// Sends the request; a stop that it needs is made before.
pub(super) async fn sent(app: &TestApp, schema: &str, intent: IntentId, body: Value) -> Reply {
    let (agent, operator) = (app.agent(), app.api(Role::Operator));
    let pause = format!("api/v1/intents/{intent}/pause");
    if schema == "PauseRequest" {
        return operator.post(&pause, body).await;
    }
    if schema == "StopRequest" {
        return operator.post(&format!("api/v1/intents/{intent}/stop"), body).await;
    }
    if schema == "VerifyLifecycleRequest" {
        return agent.post("api/v1/lifecycle-receipts/verify", body).await;
    }
    let park = format!("api/v1/intents/{intent}/park");
    if schema == "ParkRequest" {
        return agent.post(&park, body).await;
    }
    if schema == "FireRequest" {
        agent.post(&park, json!({"reason": "r", "conditions": {"on_event": "go"}})).await.ok();
        return operator.post("api/v1/events", body).await;
    }
    let id = operator.post(&pause, json!({})).await.ok()["id"].as_str().unwrap().to_owned();
    match schema {
        "SettleRequest" => agent.post(&format!("api/v1/suspensions/{id}/settle"), body).await,
        _ => operator.post(&format!("api/v1/suspensions/{id}/resume"), body).await,
    }
}

/// Pauses many intents at once: the given one, unless the body names others.
pub(super) async fn broadcast(app: &TestApp, schema: &str, intent: IntentId, body: Value) -> Reply {
    let mut whole = if schema == "BroadcastFilter" { json!({ "filter": body }) } else { body };
    if whole.get("ids").is_none() && whole.get("filter").is_none() {
        whole["ids"] = json!([intent]);
    }
    app.api(Role::Admin).post("api/v1/suspensions:broadcast", whole).await
}
