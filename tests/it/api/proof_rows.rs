//! The rows of the table of refusals that are about proofs of the log.

use domain::people::principal::Role;

use super::negatives::Row;

pub(super) fn rows() -> Vec<Row> {
    use Role::{Admin, Agent, Auditor, Channel, Operator};
    const NOT_ADMINS: &[Role] = &[Agent, Operator, Auditor, Channel];
    vec![
        Row::new("GET /api/v1/intents/{intent_id}/events/verify", Agent).forbidden(&[Channel]),
        Row::new("GET /api/v1/checkpoints", Agent).forbidden(&[Channel]).query("scope=all", "scope"),
        Row::new("GET /api/v1/checkpoints/{checkpoint_id}", Agent).forbidden(&[Channel]),
        Row::new("GET /api/v1/checkpoints/{checkpoint_id}/proof/{event_id}", Agent).forbidden(&[Channel]),
        Row::new("GET /api/v1/verify/consistency", Agent).forbidden(&[Channel]).query("from_checkpoint=x", "from_checkpoint"),
        Row::new("GET /api/v1/export", Auditor).forbidden(&[Agent, Operator, Channel]).query("outcome=x", "outcome"),
        Row::new("POST /api/v1/admin/checkpoints", Admin).forbidden(NOT_ADMINS),
    ]
}
