//! Bodies about the events of an intent, and of the server itself (RFC-0019).

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::IntentId;

/// `POST /api/v1/intents/{id}/events`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AppendEventRequest {
    /// One of the types clients may write.
    #[schema(min_length = 1, max_length = 200, examples("comment"))]
    pub event_type: String,
    /// The actor, as the caller states it; kept as `claimed_actor`, because `actor` is the credential's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub actor: Option<String>,
    /// The payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Map<String, Value>>,
    /// The trace id, for distributed tracing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub trace_id: Option<String>,
    /// The event that led to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub parent_event_id: Option<String>,
}

/// An event as served; its hashed members are exactly as they were hashed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EventView {
    /// Its id.
    pub id: String,
    /// The intent.
    pub intent_id: IntentId,
    /// From 1, without gaps.
    pub sequence: u64,
    /// The type of the event.
    pub event_type: String,
    /// The name of the credential that caused it.
    pub actor: String,
    /// The payload; `null` if it was erased, which is read as an empty one.
    #[serde(deserialize_with = "empty_if_null")]
    #[schema(value_type = Option<Object>)]
    pub payload: Map<String, Value>,
    /// Whether payload and salt were erased; absent if they were not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub redacted: bool,
    /// When it happened, naive UTC.
    pub created_at: String,
    /// The hash of the event before it.
    pub previous_event_hash: Option<String>,
    /// 32 random bytes; absent if they were erased.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schema(value_type = Option<String>)]
    pub salt: String,
    /// SHA-256 over the canonical form of all other members, as they were before an erasure.
    pub event_hash: String,
    /// The trace id, for distributed tracing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace_id: Option<String>,
    /// The event that led to this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_event_id: Option<String>,
    /// The actor the client named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_actor: Option<String>,
}

/// Reads `null` as an object without members.
fn empty_if_null<'de, D: Deserializer<'de>>(input: D) -> Result<Map<String, Value>, D::Error> {
    Ok(Option::deserialize(input)?.unwrap_or_default())
}

/// An event of the server's own log as served; the hashed members exactly as they were hashed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ServerEventView {
    /// Its id.
    pub id: String,
    /// `server`, in place of an intent.
    #[schema(examples("server"))]
    pub log: String,
    /// From 1, without gaps, over all servers of a deployment.
    pub sequence: u64,
    /// The type: `key.created`, `key.imported`, `key.revoked`, or `key.recorded` for a key that is older than this log.
    pub event_type: String,
    /// The name of the credential that caused it; `local:<uid>@<host>` for an account that works on the database itself.
    pub actor: String,
    /// The facts of the event.
    #[schema(value_type = Object)]
    pub payload: Map<String, Value>,
    /// When it happened, naive UTC.
    pub created_at: String,
    /// The hash of the event before it.
    pub previous_event_hash: Option<String>,
    /// 32 random bytes.
    pub salt: String,
    /// SHA-256 over the canonical form of all the other members.
    pub event_hash: String,
}
