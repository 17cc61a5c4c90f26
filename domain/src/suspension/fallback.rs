//! The end of a question that gets no answer (RFC-0025 §6).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The policy for a question that no one answers (RFC-0025 §6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FallbackPolicy {
    /// The intent is abandoned, and the agent is told that no one answered.
    #[default]
    Fail,
    /// The fallback value is returned.
    CompleteWithFallback,
    /// An alias of [`FallbackPolicy::CompleteWithFallback`], kept for compatibility.
    UseDefaultAndContinue,
}

impl FallbackPolicy {
    /// Every policy: a question may choose among them unless the operator restricts that.
    pub const ALL: [Self; 3] = [Self::Fail, Self::CompleteWithFallback, Self::UseDefaultAndContinue];
}

/// The longest window of one question, in seconds (366 days).
pub const WINDOW_SECONDS_MAX: u32 = 31_622_400;
