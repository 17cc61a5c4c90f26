//! Erasure over HTTP.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::IntentId;

/// `POST /api/v1/intents/{id}/redact`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RedactRequest {
    /// The legal basis of the erasure, 1 to 2,000 characters. It stands in the server's log, which is never erased, so it should name no
    /// person.
    #[schema(min_length = 1, max_length = 2_000, examples("GDPR Art. 17(1)(a), request 2026-118"))]
    pub legal_basis: String,
}

/// The erasure of the content of an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RedactionView {
    /// The intent.
    pub intent_id: IntentId,
    /// How many events this request erased; 0 if they were erased before.
    pub redacted_events: u64,
    /// The legal basis of this request.
    pub legal_basis: String,
}
