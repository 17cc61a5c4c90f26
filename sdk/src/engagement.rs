//! The decision whether to ask at all, as a type that cannot be ignored.

use domain::asking::engagement::{EngagementDecision, EngagementMode};

/// How to engage people (RFC-0025 §7.2). A program matches on it.
///
/// There is deliberately no way to get this as a boolean: the wire's `should_ask` is false both for "act" and for "do not act at
/// all", and a program that took the second case for the first would do the riskiest acts.
#[derive(Clone, Debug, PartialEq)]
#[must_use = "the decision may forbid acting"]
pub enum Engagement {
    /// Act without asking.
    Autonomous(EngagementDecision),
    /// A person should answer: ask, and use a fallback if no person does.
    RequestInput(EngagementDecision),
    /// A person must answer: ask, and do not act without an answer.
    RequireInput(EngagementDecision),
    /// Do not act, and do not ask here: another agent or person must take this over.
    Defer(EngagementDecision),
}

impl From<EngagementDecision> for Engagement {
    fn from(decision: EngagementDecision) -> Self {
        match decision.mode {
            EngagementMode::Autonomous => Self::Autonomous(decision),
            EngagementMode::RequestInput => Self::RequestInput(decision),
            EngagementMode::RequireInput => Self::RequireInput(decision),
            EngagementMode::Defer => Self::Defer(decision),
        }
    }
}

#[cfg(test)]
mod tests {
    use domain::asking::engagement::EngagementSignals;

    use super::*;

    #[test]
    fn the_riskiest_acts_are_deferred_not_done() {
        let engagement = |confidence, risk| Engagement::from(EngagementSignals::new(confidence, risk, 0.8).unwrap().decide());
        assert!(matches!(engagement(0.99, 0.9), Engagement::Defer(_)));
        assert!(matches!(engagement(0.99, 0.6), Engagement::RequireInput(_)));
        assert!(matches!(engagement(0.6, 0.3), Engagement::RequestInput(_)));
        assert!(matches!(engagement(0.99, 0.1), Engagement::Autonomous(_)));
    }
}
