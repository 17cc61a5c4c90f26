//! The members by which an agent gives people the grounds on which they decide.

use serde_json::{Value, json};

use super::Member;

pub(super) fn members() -> Vec<Member> {
    let question = json!({"question": "Go?", "response_type": "confirm", "timeout_seconds": 600});
    let ask = |name, value| Member::of("SuspendRequest", &question, name, value);
    let explain = |name: &'static str, value: Value| {
        // The member beside it is another one, so that the explanation is never empty.
        let one = if name == "why" { json!({"impact": "i"}) } else { json!({"why": "w"}) };
        let mut other = one.clone();
        other[name] = value;
        Member::within("Explanation", &question, "explanation", name, [one, other])
    };
    let mut all = vec![
        ask("question_key", json!("deploy")),
        ask("explanation", json!({"why": "w"})),
        ask("reversibility", json!("irreversible")),
        explain("what_happens", json!("t")),
        explain("why", json!("t")),
        explain("impact", json!("t")),
        explain("rollback", json!("t")),
        explain("links", json!(["https://a.example/"])),
        explain("evidence", json!({"a": 1})),
    ];
    // The replies about requests beside an intent do not show them.
    for (schema, base) in [
        ("ApprovalRequest", json!({"action": "complete"})),
        ("EscalationRequest", json!({"reason": "r"})),
        ("ArbitrationRequest", json!({"reason": "r"})),
    ] {
        all.push(Member::of(schema, &base, "question_key", json!("")).refused());
        all.push(Member::of(schema, &base, "explanation", json!({})).refused());
        all.push(Member::of(schema, &base, "reversibility", json!("maybe")).refused());
    }
    let action = json!({"action": "complete"});
    all.extend([
        // The reply does not show it.
        Member::of("ApprovalRequest", &action, "confidence", json!(2)).refused(),
        Member::of("ApprovalRequest", &action, "proposal", json!({"amount": 1})),
        // There is no proposal that people could edit.
        Member::of("ApprovalRequest", &action, "editable", json!({"type": "object"})).refused(),
        Member::of("ApprovalRequest", &action, "required_assurance", json!("session")),
        Member::of("ApprovalRequest", &action, "quorum", json!({"required_approvals": 21})).refused(),
        // The approval proposes no action.
        Member::of("DecideApprovalRequest", &json!({}), "proposal", json!({"amount": 1})).refused(),
        Member::of("DecideApprovalRequest", &json!({}), "based_on", json!("sha256:x")).refused(),
    ]);
    all
}
