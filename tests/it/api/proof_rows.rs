//! The rows of the table of refusals that are about proofs of the log.

use domain::people::principal::Role;
use serde_json::json;

use super::negatives::Row;

pub(super) fn rows() -> Vec<Row> {
    use Role::{Admin, Agent, Auditor, Channel, Operator, Verifier};
    const NOT_ADMINS: &[Role] = &[Agent, Operator, Auditor, Channel, Verifier];
    vec![
        Row::new("GET /api/v1/intents/{intent_id}/events/verify", Agent).forbidden(&[Channel, Verifier]),
        Row::new("GET /api/v1/checkpoints", Agent).forbidden(&[Channel]).query("scope=all", "scope"),
        Row::new("GET /api/v1/checkpoints/{checkpoint_id}", Agent).forbidden(&[Channel]),
        Row::new("GET /api/v1/checkpoints/{checkpoint_id}/proof/{event_id}", Agent).forbidden(&[Channel]),
        Row::new("GET /api/v1/verify/consistency", Agent).forbidden(&[Channel]).query("from_checkpoint=x", "from_checkpoint"),
        Row::new("GET /api/v1/export", Auditor).forbidden(&[Agent, Operator, Channel, Verifier]).query("outcome=x", "outcome"),
        Row::new("POST /api/v1/suspensions/{suspension_id}/receipt", Agent).forbidden(&[Auditor, Channel, Verifier]),
        Row::new("GET /api/v1/lifecycle-receipts", Agent).query("subject=x", "subject"),
        Row::new("POST /api/v1/lifecycle-receipts/verify", Agent).invalid(json!({"receipt": {"kind": "x"}}), "receipt.kind"),
        Row::new("GET /api/v1/receipts/{receipt_id}", Agent).query("format=xml", "format"),
        Row::new("POST /api/v1/receipts/{receipt_id}/consume", Verifier)
            .forbidden(&[Agent, Operator, Admin, Auditor, Channel])
            .invalid(json!({"action_digest": "sha256:x", "value": "approve"}), "action_digest"),
        Row::new("POST /api/v1/receipts/{receipt_id}/revoke", Admin)
            .forbidden(&[Agent, Auditor, Channel, Verifier])
            .invalid(json!({"because": "x"}), "because"),
        Row::new("POST /api/v1/intents/{intent_id}/redact", Admin)
            .forbidden(NOT_ADMINS)
            .invalid(json!({"legal_basis": " "}), "legal_basis"),
        Row::new("GET /api/v1/holds", Auditor).forbidden(&[Agent, Operator, Channel, Verifier]),
        Row::new("POST /api/v1/holds", Admin)
            .forbidden(NOT_ADMINS)
            .invalid(json!({"scope": {"kind": "everything"}, "reason": ""}), "reason"),
        Row::new("DELETE /api/v1/holds/{hold_id}", Admin).forbidden(NOT_ADMINS),
        Row::new("POST /api/v1/admin/checkpoints", Admin).forbidden(NOT_ADMINS),
    ]
}
