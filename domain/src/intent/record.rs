//! Data that agents keep with an intent: the server stores and shows it. Only the costs influence a decision of the server, and
//! only if the policy of the intent limits them.
//!
//! Each kind of data has an event of its own, and is stored in the log alone. The structs below are the payloads of those events.
//! A log is verified for ever, so a member never changes its name or its form.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

use crate::base::ids::{CoordinatorId, EventId};

/// Data that an agent keeps with an intent, as it is logged.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Record {
    /// `decision_recorded`.
    Decision(Decision),
    /// `coordinator.decision`.
    CoordinatorDecision(CoordinatorDecision),
    /// `attachment_added`.
    Attachment(Attachment),
    /// `attachment_removed`.
    AttachmentRemoved(AttachmentRemoved),
    /// `cost_recorded`.
    Cost(Cost),
    /// `failure_recorded`.
    Failure(Failure),
    /// `retry_policy_set`.
    RetryPolicy(RetryPolicy),
}

impl Record {
    /// The agent that the server may assign because of this record.
    pub fn assigns(&self) -> Option<&String> {
        if let Self::RetryPolicy(policy) = self { policy.fallback_agent_id.as_ref() } else { None }
    }
}

/// The longest pause of a retry policy, in milliseconds: 30 days.
pub const DELAY_MS_MAX: u64 = 30 * 86_400_000;
/// The type of the events that record decisions of agents.
pub const DECISION: &str = "decision_recorded";
/// The type of the events that record decisions of coordinators.
pub const COORDINATOR_DECISION: &str = "coordinator.decision";
/// The type of the events that add attachments.
pub const ATTACHMENT: &str = "attachment_added";
/// The type of the events that remove attachments.
pub const ATTACHMENT_REMOVED: &str = "attachment_removed";
/// The type of the events that record costs.
pub const COST: &str = "cost_recorded";
/// The type of the events that record failures.
pub const FAILURE: &str = "failure_recorded";
/// The type of the events that set the retry policy of an intent.
pub const RETRY_POLICY: &str = "retry_policy_set";

/// A decision that an agent made itself. It is never a person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// The kind of decision, in the agent's words.
    pub decision_type: String,
    /// The outcome.
    pub outcome: String,
    /// The reasons.
    pub reasoning: String,
}

/// A decision of the agent that directs the intent (RFC-0013). It is never a person's answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CoordinatorDecision {
    /// The lease of the coordinator.
    pub coordinator_id: CoordinatorId,
    /// The kind of decision.
    pub decision_type: String,
    /// The decision.
    pub summary: String,
    /// The reasons.
    pub rationale: String,
    /// The alternatives that were considered.
    pub alternatives_considered: Vec<Map<String, Value>>,
    /// How sure the agent was, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<Number>,
}

/// A file that belongs to the intent and is kept elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attachment {
    /// The name of the file.
    pub filename: String,
    /// Its media type.
    pub mime_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// Where it is kept; the server never reads it.
    pub storage_url: String,
    /// Further members.
    pub metadata: Map<String, Value>,
}

/// An attachment that is no longer listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttachmentRemoved {
    /// The attachment: the id of the event that added it.
    pub attachment_id: EventId,
}

/// The cost of some work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cost {
    /// The agent that caused it.
    pub agent_id: String,
    /// The agent that the body named, if the key may not act for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_agent_id: Option<String>,
    /// The kind of cost.
    pub cost_type: String,
    /// The amount.
    pub amount: Number,
    /// The unit of the amount.
    pub unit: String,
    /// The provider that is paid.
    pub provider: Option<String>,
    /// Further members.
    pub metadata: Map<String, Value>,
}

/// Work that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Failure {
    /// The agent whose work it was.
    pub agent_id: String,
    /// The agent that the body named, if the key may not act for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_agent_id: Option<String>,
    /// The number of the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_number: Option<u32>,
    /// The code of the error.
    pub error_code: Option<String>,
    /// The type of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The message of the error.
    pub error_message: Option<String>,
    /// Whether another attempt may succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recoverable: Option<bool>,
    /// When the agent means to try again.
    #[serde(with = "crate::base::time::naive_option")]
    pub retry_scheduled_at: Option<DateTime<Utc>>,
    /// Further members.
    pub metadata: Map<String, Value>,
}

/// How work that failed is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RetryPolicy {
    /// How the pause grows.
    pub strategy: RetryStrategy,
    /// How often the work is repeated.
    pub max_retries: u32,
    /// The first pause, in milliseconds.
    pub base_delay_ms: u64,
    /// The longest pause, in milliseconds.
    pub max_delay_ms: u64,
    /// The agent that takes over when the work keeps failing.
    pub fallback_agent_id: Option<String>,
    /// The number of failures after which that agent takes over.
    pub failure_threshold: u32,
    /// Whether the server tells the agents when to try again. Older releases only kept the policy.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub enforced: bool,
}

/// How the pause between attempts grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum RetryStrategy {
    /// The work is not repeated.
    None,
    /// The pause stays the same.
    Fixed,
    /// The pause doubles.
    Exponential,
    /// The pause grows by the first pause.
    Linear,
}

impl Record {
    /// The type of its event.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Decision(_) => DECISION,
            Self::CoordinatorDecision(_) => COORDINATOR_DECISION,
            Self::Attachment(_) => ATTACHMENT,
            Self::AttachmentRemoved(_) => ATTACHMENT_REMOVED,
            Self::Cost(_) => COST,
            Self::Failure(_) => FAILURE,
            Self::RetryPolicy(_) => RETRY_POLICY,
        }
    }

    /// Reads the payload of an event of this type; `None` if events of this type hold something else.
    ///
    /// # Errors
    ///
    /// A member that is missing or has another form.
    pub fn read(event_type: &str, payload: &Value) -> Option<Result<Self, serde_json::Error>> {
        Some(match event_type {
            DECISION => Decision::deserialize(payload).map(Self::Decision),
            COORDINATOR_DECISION => CoordinatorDecision::deserialize(payload).map(Self::CoordinatorDecision),
            ATTACHMENT => Attachment::deserialize(payload).map(Self::Attachment),
            ATTACHMENT_REMOVED => AttachmentRemoved::deserialize(payload).map(Self::AttachmentRemoved),
            COST => Cost::deserialize(payload).map(Self::Cost),
            FAILURE => Failure::deserialize(payload).map(Self::Failure),
            RETRY_POLICY => RetryPolicy::deserialize(payload).map(Self::RetryPolicy),
            _ => return None,
        })
    }
}
