//! Who is told when, and what an operator does to an open question besides answering it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::suspension::FallbackPolicy;

/// Who would be told when, if this question were asked now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuspensionPreview {
    /// Every attempt, the first one included; one that goes through several channels comes once for each.
    pub schedule: Vec<ScheduledAttempt>,
    /// The deadline of all attempts; absent for a question that would wait for ever.
    #[serde(with = "crate::base::time::z_option")]
    pub expires_at: Option<DateTime<Utc>>,
    /// What silence does.
    pub at_the_end: AtTheEnd,
    /// What was understood differently from how it was written.
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
    /// Who is told.
    pub recipients: Vec<String>,
    /// Whether a rung of the ladder takes effect at it.
    pub escalation: bool,
}

/// What silence does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// The agent goes on with the fallback value.
    Fallback,
    /// The intent is abandoned.
    Fail,
    /// Nothing: the question has no deadline.
    StaysOpen,
}

/// The end of a schedule.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AtTheEnd {
    /// What silence does.
    pub what: What,
    /// The policy in force.
    pub policy: FallbackPolicy,
    /// The value that stands in.
    #[schema(value_type = Option<Value>)]
    pub value: Option<Value>,
    /// Whether the fallback needs somebody to have been reached.
    pub requires_delivery: bool,
    /// The same in a sentence.
    pub text: String,
}
