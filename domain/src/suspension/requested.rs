//! Requests to people that do not suspend the intent (RFC-0013): approvals, escalations and arbitrations.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The value of an answer that approves.
pub const APPROVE: &str = "approve";
/// The value of an answer that refuses.
pub const DENY: &str = "deny";
/// The action of an approval that a policy can demand before an intent is completed.
pub const COMPLETE: &str = "complete";
/// The most requests of one intent that are open at a time.
pub const REQUESTS_OPEN_MAX: usize = 20;

/// A request as the agent made it. It is also stored in the event that records it, so its members never change their names or
/// forms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Requested {
    /// The action that a person approves; approvals only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub action: Option<String>,
    /// The reason.
    pub reason: String,
    /// How important it is, in the words of the agent; escalations only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// How soon it is needed, in the words of the agent; escalations only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<String>,
    /// The agent that made it.
    pub requested_by: String,
    /// The agent that the body named, if the key may not act for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_requested_by: Option<String>,
    /// The version of the intent when the request was made: a person approves the intent as it was then.
    pub intent_version: u32,
}
