//! Receipts of decisions over HTTP.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::ReceiptId;
use crate::base::sealed::Hash;
use crate::intent::receipt::Standing;

/// The part of a receipt that a third party keeps and checks offline. `docs/log-format.md` says how.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReceiptFileView {
    /// The version of the form, 1.
    pub placet_receipt: u32,
    /// The decision: who decided what, when, with which role and assurance, and the hashes of the action and of what was shown.
    #[schema(value_type = Object)]
    pub decision: Map<String, Value>,
    /// The signature of the statement that holds the decision, in base64.
    pub signature: String,
    /// The event of the log that carries the statement's hash, whole.
    #[schema(value_type = Object)]
    pub event: Map<String, Value>,
    /// The number of the event's leaf, from 0.
    pub leaf: u64,
    /// The path from the leaf to the root, lowest hash first, in base64.
    pub proof: Vec<String>,
    /// The checkpoint of that root.
    pub checkpoint: String,
}

/// The use of a receipt.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReceiptState {
    /// It can be used.
    Unused,
    /// It was used.
    Consumed,
    /// It was revoked before it was used.
    Revoked,
}

/// A receipt, with the use that was made of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ReceiptView {
    /// Its id.
    pub receipt_id: ReceiptId,
    /// Whether it can still be used. The part that is checked offline does not say that.
    pub state: ReceiptState,
    /// The name of the key that used or revoked it.
    pub closed_by: Option<String>,
    /// When it was used or revoked.
    #[serde(with = "crate::base::time::z_option")]
    #[schema(value_type = Option<String>, format = DateTime)]
    pub closed_at: Option<DateTime<Utc>>,
    /// The part to keep and to check.
    pub receipt: ReceiptFileView,
}

impl ReceiptView {
    /// Joins a receipt and its use.
    pub fn of(receipt_id: ReceiptId, standing: &Standing, receipt: ReceiptFileView) -> Self {
        let (state, closed_by, closed_at) = match standing {
            Standing::Unused => (ReceiptState::Unused, None, None),
            Standing::Consumed { by, at } => (ReceiptState::Consumed, Some(by.clone()), Some(*at)),
            Standing::Revoked { by, at } => (ReceiptState::Revoked, Some(by.clone()), Some(*at)),
        };
        Self { receipt_id, state, closed_by, closed_at, receipt }
    }
}

/// `POST /api/v1/receipts/{id}/consume`: the decision on which the caller is about to act. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct ConsumeReceiptRequest {
    /// SHA-256 of the RFC 8785 bytes of the action, as the caller computed it.
    #[schema(value_type = String, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub action_digest: Hash,
    /// The answer that the action needs, for example `approve`.
    pub value: Value,
}

/// `POST /api/v1/receipts/{id}/revoke`. Unknown fields are refused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RevokeReceiptRequest {
    /// The reason; at most 2,000 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub reason: Option<String>,
}
