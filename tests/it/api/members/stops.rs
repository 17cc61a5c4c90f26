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
        Member::of("SettleRequest", &none, "stage", json!("quiescing")),
        Member::of("ResumeRequest", &none, "input", json!({"a": 1})),
        Member::of("ResumeRequest", &none, "continue_transcript", json!(false)),
        Member::of("ResumeRequest", &none, "handle", json!("another")).answered(409),
    ]
}

/// Sends the request; a stop that it needs is made before.
pub(super) async fn sent(app: &TestApp, schema: &str, intent: IntentId, body: Value) -> Reply {
    let (agent, operator) = (app.agent(), app.api(Role::Operator));
    let pause = format!("api/v1/intents/{intent}/pause");
    if schema == "PauseRequest" {
        return operator.post(&pause, body).await;
    }
    let id = operator.post(&pause, json!({})).await.ok()["id"].as_str().unwrap().to_owned();
    match schema {
        "SettleRequest" => agent.post(&format!("api/v1/suspensions/{id}/settle"), body).await,
        _ => operator.post(&format!("api/v1/suspensions/{id}/resume"), body).await,
    }
}
