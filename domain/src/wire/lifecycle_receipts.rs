//! Receipts of stops in the form of Harn's lifecycle, as they are served and checked.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::{IntentId, SuspensionId};
use crate::suspension::stop::{Conditions, Initiator};

/// A time with the server's code for it, in Harn's form. Only this server can check the code; the log proves the event to a stranger.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LifecycleStamp {
    /// The time, in milliseconds since 1970.
    pub at_ms: i64,
    /// The time once more.
    #[serde(with = "crate::base::time::z")]
    pub at: DateTime<Utc>,
    /// `hmac-sha256`.
    pub algorithm: String,
    /// The name of the server's key.
    pub key_id: String,
    /// `sha256:` and the code in hexadecimal.
    #[schema(pattern = r"^sha256:[0-9a-f]{64}$")]
    pub signature: String,
}

/// The event of the log from which a receipt is made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct LifecycleEvent {
    /// Its id.
    pub event_id: String,
    /// Its hash, as the log has it.
    pub event_hash: String,
}

/// The event or condition that let the intent go on, if no principal did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct TriggerMatch {
    /// The provider of the trigger, or `on_event`.
    pub source: String,
    /// The id of the event of the log that says so. The event that came is not kept.
    pub event_id: String,
    /// The name of the event that came.
    pub filter_summary: String,
}

/// That an intent was stopped.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuspensionReceipt {
    /// The suspension.
    pub handle: SuspensionId,
    /// The intent.
    pub session_id: IntentId,
    /// The part of the principal.
    pub initiator: Initiator,
    /// The subject of the principal.
    pub initiator_id: String,
    /// The reason; null if there is none.
    pub reason: Option<String>,
    /// The conditions under which it goes on; absent if there are none.
    #[serde(default, with = "super::conditions", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<super::conditions::AskedConditions>)]
    pub conditions: Option<Conditions>,
    /// When it began.
    pub suspended_at: LifecycleStamp,
    /// The event of the log.
    pub log: LifecycleEvent,
}

/// That an intent goes on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ResumptionReceipt {
    /// The suspension.
    pub handle: SuspensionId,
    /// The intent.
    pub session_id: IntentId,
    /// `operator`, `parent` (an agent), `triggered` or `timeout`.
    pub initiator: String,
    /// The subject of the principal; that of an event is the teller of the event.
    pub initiator_id: String,
    /// The input; absent if there is none. In a copy an object with the one member `redacted`, which names a reason, may stand for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub input: Option<Value>,
    /// `sha256:` and the SHA-256 of the input's canonical JSON (RFC 8785) in hexadecimal; null if there is no input.
    #[schema(pattern = r"^sha256:[0-9a-f]{64}$")]
    pub input_hash: Option<String>,
    /// Whether the agent goes on with all that it remembers.
    pub continue_transcript: bool,
    /// The event or condition that let it go on; absent if a principal or the time did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trigger_match: Option<TriggerMatch>,
    /// When it went on.
    pub resumed_at: LifecycleStamp,
    /// The event of the log.
    pub log: LifecycleEvent,
}

/// One receipt.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LifecycleReceipt {
    /// That an intent was stopped.
    SuspensionReceipt(Box<SuspensionReceipt>),
    /// That an intent goes on.
    ResumptionReceipt(Box<ResumptionReceipt>),
}

/// The receipts of one stop: that of its beginning, and that of its end if the intent went on.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct LifecycleReceipts {
    /// The receipts.
    pub receipts: Vec<LifecycleReceipt>,
}

/// `POST /api/v1/lifecycle-receipts/verify`. Unknown fields are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct VerifyLifecycleRequest {
    /// A receipt as it was served.
    #[schema(value_type = Object)]
    pub receipt: Map<String, Value>,
    /// The prompt of which a `drain_decision_receipt` has the hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<String>,
}

/// Whether a receipt says what the log says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LifecycleVerdict {
    /// Whether it does.
    pub valid: bool,
    /// Each difference.
    pub problems: Vec<LifecycleProblem>,
}

/// One difference between a receipt and the log.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, ToSchema)]
pub struct LifecycleProblem {
    /// `HARN-SUS-011`: the input; `HARN-SUS-012`: the prompt; `HARN-SUS-013`: the time or another member.
    pub code: String,
    /// The member of the receipt.
    pub field: String,
    /// The difference, in words.
    pub message: String,
}
