//! The members of the requests about receipts of decisions.

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
    ]
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
