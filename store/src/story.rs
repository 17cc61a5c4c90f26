//! What an operator reads in the server's log of each question: that it was asked, delivered, and how it ended.
//!
//! One line each, after the commit. With the intent, the agent and the kind of outcome, and nothing that opens or decides anything: no
//! suspension id, no question, no recipient, no answer.

use domain::base::ids::IntentId;

use super::fact::{Method, Outcome};

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Story {
    pub intent_id: IntentId,
    /// Who asked.
    pub agent: String,
    pub what: What,
}

/// What happened to a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum What {
    Asked,
    /// A message about it was taken by this channel.
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
                    Outcome::Undeliverable => "a question reached no person",
                };
                tracing::info!(intent.id = %intent_id, agent, outcome = outcome.as_str(), method = method.as_str(), "{how}");
            }
        }
    }
}
