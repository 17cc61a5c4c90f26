//! Whether to ask at all (RFC-0025 §7).

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::field::FieldError;

/// The agent's estimates about the act it is about to take (RFC-0025 §7.1).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EngagementSignals {
    /// Confidence in an autonomous answer, 0 to 1.
    pub confidence: f64,
    /// Estimated risk of acting autonomously, 0 to 1.
    pub risk: f64,
    /// How reversible the act is, 0 to 1.
    pub reversibility: f64,
    /// Any other facts about the act.
    #[serde(default)]
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
}

impl EngagementSignals {
    /// Takes the three signals.
    ///
    /// # Errors
    ///
    /// Every signal that is outside [0, 1] or is not a number (NaN).
    pub fn new(confidence: f64, risk: f64, reversibility: f64) -> Result<Self, Vec<FieldError>> {
        let errors: Vec<FieldError> = [("confidence", confidence), ("risk", risk), ("reversibility", reversibility)]
            .into_iter()
            .filter(|(_, signal)| !(0.0..=1.0).contains(signal))
            .map(|(name, _)| FieldError::new(name, "range", "must be a number from 0 to 1"))
            .collect();
        if errors.is_empty() { Ok(Self { confidence, risk, reversibility, context: Map::new() }) } else { Err(errors) }
    }

    /// Decides how to engage people. The modes are tried in the order autonomous, defer, require, request. The RFC's table lists
    /// `require_input` before `defer`, but in that order `defer` would be unreachable for the riskiest acts.
    pub fn decide(&self) -> EngagementDecision {
        let (mode, rationale) = if self.confidence >= 0.85 && self.risk <= 0.20 && self.reversibility >= 0.50 {
            (EngagementMode::Autonomous, "confidence is high, risk is low, the act can be undone")
        } else if self.risk >= 0.80 || self.reversibility <= 0.10 {
            (EngagementMode::Defer, "the act is too risky or cannot be undone: it must not be taken by the agent")
        } else if self.confidence < 0.50 || self.risk > 0.50 {
            (EngagementMode::RequireInput, "confidence is low or risk is high: a person must answer")
        } else {
            (EngagementMode::RequestInput, "moderate uncertainty: a person should answer")
        };
        EngagementDecision { mode, should_ask: mode.should_ask(), rationale: rationale.to_owned(), signals: self.clone() }
    }
}

/// How to engage people (RFC-0025 §7.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum EngagementMode {
    /// Act without asking.
    Autonomous,
    /// A person should answer.
    RequestInput,
    /// A person must answer.
    RequireInput,
    /// Do not act, and do not ask here: another person or system must take this over.
    Defer,
}

impl EngagementMode {
    /// The value of `should_ask` on the wire. It is false for `defer` as well as for `autonomous`, so an agent must also look
    /// at the mode before it acts.
    pub fn should_ask(self) -> bool {
        matches!(self, Self::RequestInput | Self::RequireInput)
    }
}

/// The decision and the signals it is based on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EngagementDecision {
    /// How to engage people.
    pub mode: EngagementMode,
    /// See [`EngagementMode::should_ask`].
    pub should_ask: bool,
    /// Why, in a sentence.
    pub rationale: String,
    /// The signals that the decision is based on.
    pub signals: EngagementSignals,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(confidence: f64, risk: f64, reversibility: f64) -> EngagementMode {
        EngagementSignals::new(confidence, risk, reversibility).unwrap().decide().mode
    }

    #[test]
    fn the_modes_hold_at_their_bounds() {
        assert_eq!(mode(0.85, 0.20, 0.50), EngagementMode::Autonomous);
        assert_eq!(mode(0.849, 0.20, 0.50), EngagementMode::RequestInput);
        assert_eq!(mode(0.85, 0.201, 0.50), EngagementMode::RequestInput);
        assert_eq!(mode(0.85, 0.20, 0.49), EngagementMode::RequestInput);
        assert_eq!(mode(0.49, 0.0, 1.0), EngagementMode::RequireInput);
        assert_eq!(mode(0.50, 0.50, 0.40), EngagementMode::RequestInput);
        assert_eq!(mode(0.50, 0.51, 0.40), EngagementMode::RequireInput);
        // The riskiest acts are deferred even where `require_input` would match as well.
        assert_eq!(mode(0.10, 0.80, 1.0), EngagementMode::Defer);
        assert_eq!(mode(1.0, 0.0, 0.10), EngagementMode::Defer);
        assert!(!EngagementMode::Defer.should_ask());
    }

    #[test]
    fn signals_outside_their_range_are_refused_by_name() {
        for bad in [f64::NAN, -0.01, 1.01, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(EngagementSignals::new(bad, 0.0, 1.0).unwrap_err()[0].field, "confidence");
            assert_eq!(EngagementSignals::new(0.0, bad, 1.0).unwrap_err()[0].field, "risk");
            assert_eq!(EngagementSignals::new(0.0, 0.0, bad).unwrap_err()[0].field, "reversibility");
        }
        assert_eq!(EngagementSignals::new(2.0, 2.0, 2.0).unwrap_err().len(), 3);
    }
}
