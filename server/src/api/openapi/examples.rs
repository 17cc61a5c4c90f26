//! An example body for each operation that has a body. The reference shows it, so that a reader can copy it for a first call.

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
        "suspensions_remind" | "suspensions_take_back" | "suspensions_claim" | "suspensions_release" | "approvals_approve" => {
            json!({})
        }
        "lifecycle_stop" => json!({ "graceful": true, "reason": "Another team does it." }),
        "lifecycle_broadcast" => json!({ "filter": { "created_by": "invoice-bot" }, "reason": "The bot is being checked." }),
        "lifecycle_pause" => json!({ "mode": "finish_step", "reason": "The supplier is being checked." }),
        "lifecycle_park" => json!({
            "reason": "Waiting for the review.",
            "conditions": { "on_event": "review.approved", "timeout": { "duration_minutes": 60, "on_timeout": "resume_with_summary" } },
        }),
        "lifecycle_fire" => json!({ "name": "review.approved", "payload": { "review": 7 } }),
        "lifecycle_settle" => json!({ "stage": "suspended" }),
        "lifecycle_verify" => {
            json!({ "receipt": { "kind": "suspension_receipt", "handle": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10" } })
        }
        "lifecycle_resume" => json!({ "input": "The supplier is fine." }),
        "suspensions_save_draft" => json!({ "values": { "comment": "Waiting for the carrier." } }),
        "suspensions_respond_to" => json!({ "suspension_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10", "value": "approve" }),
        "suspensions_cancel" | "receipts_revoke" => json!({ "reason": "The customer withdrew the order." }),
        "proofs_place" => json!({ "scope": { "kind": "agent", "id": "billing-bot" }, "reason": "Litigation 2026-7" }),
        "proofs_redact" => json!({ "legal_basis": "GDPR Art. 17(1)(a), request 2026-118" }),
        "receipts_consume" => {
            json!({ "action_digest": "sha256:RBNvo1WzZ4oRRq0W9-hknpT7T8If536DEMBg9hyq_4o", "value": "approve" })
        }
        "deliveries_report_bounce" => json!({
            "returned_to": "bounces+1f.4a0d5be1c3f2a7986e5d4c3b@example.com", "kind": "hard", "detail": "550 5.1.1 no such mailbox",
        }),
        "intents_create" => json!({ "title": "Refund order 12345", "status": "active" }),
        "graph_create_child" => json!({ "title": "Check the order", "status": "active" }),
        "graph_add_dependency" => json!({ "dependency_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10" }),
        "intents_patch_state" => json!({ "patches": [{ "op": "set", "path": "/refund/amount", "value": 412 }] }),
        "intents_set_status" => json!({ "status": "completed", "reason": "The refund was sent." }),
        "events_append" => json!({ "event_type": "comment", "payload": { "text": "The card was charged twice." } }),
        "leases_acquire" => json!({ "scope": "refund", "duration_seconds": 300 }),
        "leases_renew" => json!({ "duration_seconds": 300 }),
        "governance_set" => json!({ "completion_mode": "require_approval", "max_cost": 100 }),
        "approvals_ask" => json!({ "action": "complete", "reason": "The refund was sent." }),
        "approvals_deny" => json!({ "notes": "The order number is wrong." }),
        "escalations_ask" => json!({ "reason": "The bank refuses the transfer.", "priority": "high" }),
        "escalations_resolve" => json!({ "resolution": "Use the other account." }),
        "arbitration_ask" => json!({ "reason": "Two agents want to change the same order." }),
        "agents_assign" => json!({ "agent_id": "refund-worker" }),
        "keys_create" => json!({ "role": "agent", "name": "refund-agent" }),
        _ => return of_records(operation_id),
    };
    Some(body)
}

/// The example bodies of the operations on the records of agents.
fn of_records(operation_id: &str) -> Option<Value> {
    Some(match operation_id {
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
        _ => return of_rights(operation_id),
    })
}

/// The example bodies of the operations on who may see an intent, and who answers a question.
fn of_rights(operation_id: &str) -> Option<Value> {
    Some(match operation_id {
        "suspensions_reassign" => json!({ "assignees": { "groups": ["finance"] } }),
        "suspensions_delegate" => json!({ "to": "cleo@example.com" }),
        "access_grant" => json!({
            "principal_id": "refund-auditor", "permission": "read", "reason": "It checks all refunds.", "expires_at": "2027-01-31T18:00:00Z",
        }),
        "access_set_acl" => json!({
            "default_policy": "closed", "entries": [{ "principal_id": "refund-auditor", "permission": "read" }],
        }),
        "access_request_access" => json!({
            "principal_id": "refund-auditor", "requested_permission": "read", "reason": "It checks all refunds.",
        }),
        "access_approve" => json!({ "permission": "read", "reason": "The auditor is known." }),
        "access_deny" => json!({ "reason": "The agent is not known." }),
        _ => return of_sets(operation_id),
    })
}

/// The example bodies of the operations on people, portfolios, tasks and subscriptions.
fn of_sets(operation_id: &str) -> Option<Value> {
    Some(match operation_id {
        "subscriptions_subscribe" => json!({
            "intent_id": "019f9a3d-6c1e-7b1a-9c55-0d6f5a3b2c11", "event_types": ["intent.suspended", "intent.resumed"],
            "webhook_url": "https://hooks.example.com/placet",
        }),
        "portfolios_create" => json!({
            "name": "Refunds of November", "governance_policy": { "require_all_completed": true }, "metadata": { "team": "billing" },
        }),
        "portfolios_update" => {
            json!({ "governance_policy": { "require_all_completed": true, "deadline": "2027-01-31T18:00:00Z" } })
        }
        "portfolios_set_status" => json!({ "status": "completed" }),
        "portfolios_add" => json!({
            "intent_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10", "role": "primary", "priority": 10,
        }),
        "plans_create" => json!({
            "intent_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10", "tasks": ["019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c11"],
            "checkpoints": [{ "id": "paid", "name": "Pay the invoice", "after_task": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c11" }],
        }),
        "coordinators_create" => json!({
            "agent_id": "planner", "intent_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10", "suspension_policy": "block_dependents",
            "guardrails": { "max_tasks_per_plan": 10, "requires_plan_review": true },
        }),
        "coordinators_decide" => json!({
            "coordinator_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c13", "intent_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10",
            "decision_type": "plan_created", "summary": "Check first, then pay", "rationale": "The vendor is new.",
        }),
        "plans_update" => json!({ "state": "active" }),
        "tasks_create" => json!({
            "intent_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10", "name": "Check the invoice", "input": { "invoice": "INV-7" },
        }),
        "tasks_update" => json!({ "status": "running" }),
        "tasks_claim" => json!({}),
        "tasks_complete" => json!({ "output": { "valid": true } }),
        "tasks_fail" => json!({ "error": "The archive does not answer." }),
        "tasks_progress" => json!({ "percentage": 40, "message": "Two of five invoices are checked." }),
        "plans_approve" => json!({ "plan_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10", "notes": "Checked by phone." }),
        "plans_reject" => json!({ "plan_id": "019ab0f2-7c11-7d3a-9a55-3f1f0d6b2c10", "notes": "The IBAN is new." }),
        "tasks_escalate" => json!({ "reason": "The invoice names a person who is not in the list." }),
        "people_add" => {
            json!({ "address": "ada@example.com", "role": "operator", "time_zone": "Europe/Vienna", "locale": "de-AT" })
        }
        "people_leave" => {
            json!({ "from": "2026-12-20T08:00:00Z", "until": "2027-01-04T08:00:00Z", "deputy": "bob@example.com" })
        }
        "people_change" => json!({ "role": "auditor", "time_zone": "Europe/Vienna", "locale": null }),
        "groups_set" => json!({ "members": ["ada@example.com", "bob@example.com"] }),
        "tasks_delegate" => json!({ "capability": "translate", "payload": { "text": "Rechnung" } }),
        _ => return None,
    })
}
