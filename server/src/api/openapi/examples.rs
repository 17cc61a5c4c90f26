//! An example body for each operation that takes one. The reference shows it, and a reader sends it first.

use serde_json::{Value, json};

/// The example of an operation's body.
pub(super) fn body(operation_id: &str) -> Option<Value> {
    let body = match operation_id {
        "suspensions_suspend" => json!({
            "question": "Refund order 12345?",
            "choices": [
                { "value": "approve", "label": "Approve refund", "style": "primary" },
                { "value": "deny", "label": "Deny refund", "style": "danger" },
            ],
            "context": { "order": "12345", "amount": "412.00 EUR" },
            "timeout_seconds": 3_600,
        }),
        "suspensions_preview" => json!({
            "question": "Refund order 12345?", "response_type": "confirm",
            "retry_policy": {
                "max_attempts": 3, "interval_seconds": 3_600,
                "escalation_ladder": [{ "attempt": 3, "channel_hint": "email" }],
            },
        }),
        "suspensions_extend" => json!({ "seconds": 3_600, "reason": "The lawyer is back at noon." }),
        "suspensions_remind" => json!({}),
        "suspensions_respond_to" => json!({ "suspension_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10", "value": "approve" }),
        "suspensions_cancel" => json!({ "reason": "The customer withdrew the order." }),
        "deliveries_report_bounce" => json!({
            "returned_to": "bounces+1f.4a0d5be1c3f2a7986e5d4c3b@example.com", "kind": "hard", "detail": "550 5.1.1 no such mailbox",
        }),
        "intents_create" => json!({ "title": "Refund order 12345", "status": "active" }),
        "intents_patch_state" => json!({ "patches": [{ "op": "set", "path": "/refund/amount", "value": 412 }] }),
        "intents_set_status" => json!({ "status": "completed", "reason": "The refund was sent." }),
        "events_append" => json!({ "event_type": "comment", "payload": { "text": "The card was charged twice." } }),
        "leases_acquire" => json!({ "scope": "refund", "duration_seconds": 300 }),
        "leases_renew" => json!({ "duration_seconds": 300 }),
        "agents_assign" => json!({ "agent_id": "refund-worker" }),
        "records_record_decision" => {
            json!({ "decision_type": "approach", "outcome": "refund in full", "reasoning": "The order was late." })
        }
        "records_add_attachment" => json!({
            "filename": "invoice.pdf", "mime_type": "application/pdf", "size": 48_213, "storage_url": "s3://invoices/12345.pdf",
        }),
        "records_record_cost" => json!({ "cost_type": "tokens", "amount": 1_500, "unit": "tokens", "provider": "acme" }),
        "records_record_failure" => {
            json!({ "attempt_number": 1, "error_code": "timeout", "error_message": "The bank did not answer." })
        }
        "records_set_retry_policy" => json!({ "strategy": "exponential", "max_retries": 3 }),
        "keys_create" => json!({ "role": "agent", "name": "refund-agent" }),
        _ => return None,
    };
    Some(body)
}
