//! The members of the requests about receipts of decisions, erasures and legal holds.

use domain::base::ids::IntentId;
use domain::people::principal::Role;
use harness::api::Reply;
use harness::app::TestApp;
use serde_json::{Value, json};

use super::Member;

/// Stands for the digest of the action of the answered question.
const DIGEST: &str = "$digest";

pub(super) fn members() -> Vec<Member> {
    let whole = json!({"action_digest": DIGEST, "value": "approve"});
    let other = format!("sha256:{}", "A".repeat(43));
    vec![
        Member::of("ConsumeReceiptRequest", &whole, "action_digest", json!(other)).answered(409),
        Member::of("ConsumeReceiptRequest", &whole, "value", json!("deny")).answered(409),
        Member::of("RevokeReceiptRequest", &json!({}), "reason", json!("r")),
        Member::of(
            "PlaceHoldRequest",
            &json!({"scope": {"kind": "agent", "id": "test-agent"}, "reason": "r"}),
            "scope",
            json!({"kind": "everything"}),
        ),
        Member::of(
            "PlaceHoldRequest",
            &json!({"scope": {"kind": "agent", "id": "test-agent"}, "reason": "r"}),
            "reason",
            json!("another one"),
        ),
        Member::of("RedactRequest", &json!({"legal_basis": "a request"}), "legal_basis", json!("another one")),
    ]
}

/// Places a legal hold, and lifts it.
pub(super) async fn held(app: &TestApp, body: Value) -> Reply {
    let admin = app.api(Role::Admin);
    let placed = admin.post("api/v1/holds", body).await;
    let path = format!("api/v1/holds/{}?reason=r", placed.body["id"].as_str().unwrap());
    admin.send(admin.request("DELETE", &path)).await.ok();
    placed
}

/// Ends the intent, and erases its content. The events that are erased have hashes that differ each time, so the reply is enough.
pub(super) async fn erased(app: &TestApp, intent: IntentId, body: Value) -> Reply {
    let agent = app.agent();
    let version = agent.intent(intent).await["version"].to_string();
    agent.post_at(&format!("api/v1/intents/{intent}/status"), &version, json!({"status": "abandoned"})).await.ok();
    app.api(Role::Admin).post(&format!("api/v1/intents/{intent}/redact"), body).await
}

/// Answers a question of the intent, and sends the request about its receipt. The proofs in the reply differ each time, and are left out.
pub(super) async fn sent(app: &TestApp, schema: &str, intent: IntentId, mut body: Value) -> Reply {
    let (agent, operator) = (app.agent(), app.operator());
    let question = agent.asked(intent).await;
    let answer = operator.respond(intent, &question, "approve").await.ok();
    let receipt = agent.post(&format!("api/v1/suspensions/{question}/receipt"), json!({})).await.ok();
    let path = format!("api/v1/receipts/{}", receipt["receipt_id"].as_str().unwrap());
    let mut reply = if schema == "RevokeReceiptRequest" {
        operator.post(&format!("{path}/revoke"), body).await
    } else {
        if body["action_digest"] == DIGEST {
            body["action_digest"] = answer["action_digest"].clone();
        }
        app.api(Role::Verifier).post(&format!("{path}/consume"), body).await
    };
    if let Some(members) = reply.body.as_object_mut() {
        members.remove("receipt");
        reply.text = reply.body.to_string();
    }
    reply
}
