//! The body of a preview: the people who would be told, with the times, and the outcome if no person answers.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::suspension::FallbackPolicy;

/// The people who would be told if this question were asked now, with the times.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuspensionPreview {
    /// Every attempt, the first one included; an attempt by several channels has an entry for each.
    pub schedule: Vec<ScheduledAttempt>,
    /// The deadline of all attempts; absent for a question that would wait for ever.
    #[serde(with = "crate::base::time::z_option")]
    pub expires_at: Option<DateTime<Utc>>,
    /// The outcome if no person answers.
    pub at_the_end: AtTheEnd,
    /// Differences between the request as written and as understood.
    pub warnings: Vec<String>,
}

/// One attempt of a question on one channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ScheduledAttempt {
    /// Its number, from 1.
    pub attempt: u32,
    /// When it is due.
    #[serde(with = "crate::base::time::z")]
    pub at: DateTime<Utc>,
    /// The channel it goes through.
    pub channel: String,
    /// The people who are told.
    pub recipients: Vec<String>,
    /// Whether a step of the escalation ladder takes effect at this attempt.
    pub escalation: bool,
}

/// The outcome if no person answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The agent goes on with the fallback value.
    Fallback,
    /// The intent is abandoned.
    Fail,
    /// The question has no deadline, so it stays open.
    StaysOpen,
}

/// The outcome at the end of a schedule, if no person has answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AtTheEnd {
    /// The kind of outcome.
    pub what: What,
    /// The policy in force.
    pub policy: FallbackPolicy,
    /// The value that then replaces an answer, if `what` is `fallback`.
    #[schema(value_type = Option<Value>)]
    pub value: Option<Value>,
    /// Whether the fallback applies only if a person was reached.
    pub requires_delivery: bool,
    /// The outcome in a sentence.
    pub text: String,
}
