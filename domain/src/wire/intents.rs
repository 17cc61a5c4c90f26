//! Bodies about intents (RFC-0001).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::IntentId;
use crate::intent::Intent;
use crate::intent::body::{IntentBody, Patch};
use crate::intent::dependency::BlockedReason;
use crate::intent::status::Status;
use crate::wire::SuspensionRecord;

/// `POST /api/v1/intents`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreateIntentRequest {
    /// Its title.
    #[schema(min_length = 1, max_length = 500, examples("Refund order 12345"))]
    pub title: String,
    /// Its description; null counts as empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65_536)]
    pub description: Option<String>,
    /// The creator's name, for display only: the right to read the intent follows from the credential, not from this name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 500)]
    pub created_by: Option<String>,
    /// Its parent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_intent_id: Option<String>,
    /// The parent, under the other name that the OpenIntent client uses; must equal `parent_intent_id` if both are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_id: Option<String>,
    /// The intents that must be completed before this one can be active (RFC-0002).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100)]
    pub depends_on: Option<Vec<String>>,
    /// Its constraints, an object or a legacy list.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub constraints: Option<Value>,
    /// Its state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub state: Option<Map<String, Value>>,
    /// `draft` (default) or `active`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^(draft|active)$")]
    pub status: Option<String>,
    /// How sure the agent is, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 100)]
    pub confidence: Option<f64>,
    /// The policy (RFC-0013); a rule that this server does not enforce is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub governance_policy: Option<Map<String, Value>>,
}

/// An intent as the OpenIntent client reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct IntentView {
    /// Its id.
    pub id: IntentId,
    /// Its title.
    pub title: String,
    /// Its description, never null.
    pub description: String,
    /// The creator's name, as shown.
    pub created_by: String,
    /// Its parent.
    pub parent_intent_id: Option<IntentId>,
    /// The parent, under the other name that the OpenIntent client uses.
    pub parent_id: Option<IntentId>,
    /// The intents it depends on.
    pub depends_on: Vec<IntentId>,
    /// Those of them that are not completed.
    #[serde(default)]
    pub blocked_by: Vec<IntentId>,
    /// Why it is blocked; null unless it is. If a dependency and an agent both block it, this is `dependencies`.
    #[serde(default)]
    pub blocked_reason: Option<BlockedReason>,
    /// Its constraints, an object or a legacy list.
    #[schema(value_type = Value)]
    pub constraints: Value,
    /// Its state, with `_suspension` rendered from the newest suspension (RFC-0025 §5).
    #[schema(value_type = Object)]
    pub state: Map<String, Value>,
    /// Its status.
    pub status: Status,
    /// How sure the agent is.
    pub confidence: f64,
    /// Its version, for `If-Match`.
    pub version: u32,
    /// Its governance policy.
    #[schema(value_type = Option<Object>)]
    pub governance_policy: Option<Value>,
    /// When it was created.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub updated_at: DateTime<Utc>,
}

impl IntentView {
    /// Joins an intent and its body; `newest` is the newest suspension's record, and `blocked_by` holds the dependencies that are not
    /// completed.
    pub fn of(intent: &Intent, body: IntentBody, newest: Option<&SuspensionRecord>, blocked_by: Vec<IntentId>) -> Self {
        let mut state = body.state;
        if let Some(record) = newest {
            state.insert(crate::intent::body::SUSPENSION_KEY.to_owned(), record.naive());
        }
        Self {
            id: intent.id,
            title: body.title,
            description: body.description,
            created_by: body.created_by,
            parent_intent_id: body.parent_intent_id,
            parent_id: body.parent_intent_id,
            depends_on: body.depends_on,
            blocked_by,
            blocked_reason: intent.blocked_reason(),
            constraints: body.constraints,
            state,
            status: intent.status,
            confidence: body.confidence,
            version: intent.version,
            governance_policy: body.governance_policy,
            created_at: intent.created_at,
            updated_at: intent.updated_at,
        }
    }
}

/// `POST /api/v1/intents/{id}/state`: patches, or top-level keys to set.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PatchStateRequest {
    /// Patches, in order.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_items = 1, max_items = 200)]
    pub patches: Option<Vec<Patch>>,
    /// Top-level keys to set.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub state: Option<Map<String, Value>>,
}

/// `POST /api/v1/intents/{id}/status`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SetStatusRequest {
    /// One of the six statuses.
    #[schema(value_type = Status)]
    pub status: String,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub reason: Option<String>,
}

/// A page of intents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct IntentPage {
    /// Newest first.
    pub intents: Vec<IntentView>,
    /// Pass it as `cursor` for the next page; null on the last page.
    pub next_cursor: Option<String>,
}
