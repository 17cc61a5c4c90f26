//! The end of a question that gets no answer (RFC-0025 §6).

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// What happens when nobody answers (RFC-0025 §6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FallbackPolicy {
    /// The intent is abandoned and the agent told that nobody answered.
    #[default]
    Fail,
    /// The fallback value is returned.
    CompleteWithFallback,
    /// An alias of [`FallbackPolicy::CompleteWithFallback`], kept for compatibility.
    UseDefaultAndContinue,
}

impl FallbackPolicy {
    /// Every policy: what a question may choose from unless the operator says otherwise.
    pub const ALL: [Self; 3] = [Self::Fail, Self::CompleteWithFallback, Self::UseDefaultAndContinue];
}

/// The longest window of one question, in seconds (366 days).
pub const WINDOW_SECONDS_MAX: u32 = 31_622_400;
