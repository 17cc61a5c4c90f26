//! The operator's lines in the server's log about each question: that it was asked, that it was delivered, and how it ended.
//!
//! Each line is written after the commit. It names the intent, the agent and the kind of outcome, and nothing that opens or
//! decides a question: no suspension id, no question, no recipient, no answer.

use domain::base::ids::IntentId;

use super::fact::{Method, Outcome};

/// One line of the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    pub intent_id: IntentId,
    /// The agent that asked.
    pub agent: String,
    pub what: What,
}

/// The event in the life of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Asked,
    /// This channel took a message about the question.
    Delivered {
        channel: String,
    },
    Ended {
        outcome: Outcome,
        method: Method,
    },
}

impl Story {
    /// Writes the line.
    pub(super) fn log(&self) {
        let Self { intent_id, agent, what } = self;
        match what {
            What::Asked => tracing::info!(intent.id = %intent_id, agent, "a question was asked"),
            What::Delivered { channel } => {
                tracing::info!(intent.id = %intent_id, agent, delivery.channel = channel, "a question was delivered");
            }
            What::Ended { outcome, method } => {
                let how = match outcome {
                    Outcome::Answered => "a question was answered",
                    Outcome::ExpiredWithFallback | Outcome::ExpiredFailed => "a question expired",
                    Outcome::Withdrawn => "a question was withdrawn",
                    Outcome::Superseded => "a question was replaced",
                    Outcome::TimeLost => "a question ended because time was lost",
                    Outcome::PortfolioDeadline => "a question ended at the deadline of a portfolio",
                    Outcome::QuorumUnmet => "a question ended because not enough people agreed",
                    Outcome::Undeliverable => "a question reached no person",
                };
                tracing::info!(intent.id = %intent_id, agent, outcome = outcome.as_str(), method = method.as_str(), "{how}");
            }
        }
    }
}
