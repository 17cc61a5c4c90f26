//! How a question ended, in the words for scripts and for people.

use domain::base::text::truncated;
use domain::base::time::rfc3339;
use placet::{Answer, CancelReason, Resolution, ResolutionReason, Source, Status, SuspensionRecord, TimeoutReason};
use serde_json::{Value, json};

use super::remote::{inert_line, name};

/// The longest answer in a sentence, in characters.
const VALUE_CHARS_MAX: usize = 200;

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum Ending {
    /// A person said yes, chose, or wrote.
    Answered,
    /// A person said no.
    Declined,
    /// No person answered, and the fallback is used.
    Fallback,
    /// No person answered.
    Expired,
    /// No person was reached.
    Undeliverable,
    /// The question was taken back.
    Withdrawn,
    /// A newer question replaced it.
    Superseded,
    /// The server ended it: the server was away or its clock jumped, and the deadline of this question does not move.
    TimeLost,
    /// The deadline of a portfolio that the intent is in has passed.
    PortfolioDeadline,
    /// People answered, and not enough of them agreed.
    QuorumUnmet,
}

impl From<TimeoutReason> for Ending {
    fn from(reason: TimeoutReason) -> Self {
        match reason {
            TimeoutReason::Unanswered => Self::Expired,
            TimeoutReason::Undeliverable => Self::Undeliverable,
        }
    }
}

impl From<CancelReason> for Ending {
    fn from(reason: CancelReason) -> Self {
        match reason {
            CancelReason::Withdrawn => Self::Withdrawn,
            CancelReason::Superseded => Self::Superseded,
            CancelReason::TimeLost => Self::TimeLost,
            CancelReason::PortfolioDeadline => Self::PortfolioDeadline,
            CancelReason::QuorumUnmet => Self::QuorumUnmet,
        }
    }
}

impl Ending {
    /// How a question on record has ended; `None` while it is open.
    pub(in crate::cli) fn of(record: &SuspensionRecord) -> Option<Self> {
        Some(match (record.resolution?, record.resolution_reason) {
            (Resolution::Responded, _) => Self::Answered,
            (Resolution::Expired, _) if record.response.is_some() => Self::Fallback,
            (Resolution::Expired, _) => Self::Expired,
            (Resolution::Cancelled, Some(ResolutionReason::Superseded)) => Self::Superseded,
            (Resolution::Cancelled, Some(ResolutionReason::TimeLost)) => Self::TimeLost,
            (Resolution::Cancelled, Some(ResolutionReason::PortfolioDeadline)) => Self::PortfolioDeadline,
            (Resolution::Cancelled, Some(ResolutionReason::QuorumUnmet)) => Self::QuorumUnmet,
            (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => Self::Undeliverable,
            (Resolution::Cancelled, Some(ResolutionReason::Withdrawn) | None) => Self::Withdrawn,
        })
    }

    /// A fallback never counts as a person's answer, whatever its value.
    pub(in crate::cli) fn of_answer<T>(answer: &Answer<T>, positive: fn(&T) -> bool) -> Self {
        match answer.source {
            Source::Fallback { .. } => Self::Fallback,
            Source::Human { .. } if positive(&answer.value) => Self::Answered,
            Source::Human { .. } => Self::Declined,
        }
    }

    pub(in crate::cli) fn exit_code(self) -> u8 {
        match self {
            Self::Answered => 0,
            Self::Declined => 1,
            Self::Fallback
            | Self::Expired
            | Self::Undeliverable
            | Self::Withdrawn
            | Self::Superseded
            | Self::TimeLost
            | Self::PortfolioDeadline
            | Self::QuorumUnmet => 2,
        }
    }

    fn outcome(self) -> &'static str {
        match self {
            Self::Answered | Self::Declined => "answered",
            Self::Fallback => "fallback",
            Self::Expired => "expired",
            Self::Undeliverable => "undeliverable",
            Self::Withdrawn => "withdrawn",
            Self::Superseded => "superseded",
            Self::TimeLost => "time_lost",
            Self::PortfolioDeadline => "portfolio_deadline",
            Self::QuorumUnmet => "quorum_unmet",
        }
    }

    fn source(self) -> &'static str {
        match self {
            Self::Answered | Self::Declined => "human",
            Self::Fallback => "fallback",
            Self::Expired
            | Self::Undeliverable
            | Self::Withdrawn
            | Self::Superseded
            | Self::TimeLost
            | Self::PortfolioDeadline
            | Self::QuorumUnmet => "none",
        }
    }

    /// The status of the intent from then on; `None` if the server has already ended the intent, or another question is open on
    /// it.
    pub(in crate::cli) fn closes_as(self) -> Option<Status> {
        match self {
            Self::Answered | Self::Declined | Self::Fallback => Some(Status::Completed),
            Self::Withdrawn | Self::TimeLost => Some(Status::Abandoned),
            Self::Expired | Self::Undeliverable | Self::Superseded | Self::PortfolioDeadline | Self::QuorumUnmet => None,
        }
    }

    /// The answer, or the fallback that replaces it.
    pub(in crate::cli) fn value(self, record: &SuspensionRecord) -> Option<String> {
        match self {
            Self::Answered | Self::Declined | Self::Fallback => {
                record.response.as_ref().map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
            }
            Self::Expired
            | Self::Undeliverable
            | Self::Withdrawn
            | Self::Superseded
            | Self::TimeLost
            | Self::PortfolioDeadline
            | Self::QuorumUnmet => None,
        }
    }

    /// One line for people.
    pub(in crate::cli) fn words(self, record: &SuspensionRecord) -> String {
        if record.redacted && matches!(self, Self::Answered | Self::Declined | Self::Fallback) {
            let what = if self == Self::Fallback {
                "no person answered in time, and the fallback"
            } else {
                "a person answered, and the answer"
            };
            return format!("{what} was erased since");
        }
        let value = truncated(&inert_line(&self.value(record).unwrap_or_default()), VALUE_CHARS_MAX);
        match self {
            Self::Answered | Self::Declined => {
                let by = name(record.responded_by.as_deref().unwrap_or("a person"));
                let comment = record.metadata.as_ref().and_then(|metadata| metadata.get("comment")).and_then(Value::as_str);
                let comment = comment.map(|comment| format!(", and said: {}", inert_line(comment))).unwrap_or_default();
                format!("{by} answered {value:?}{comment}")
            }
            Self::Fallback => format!("no person answered in time, so the fallback {value:?} is used"),
            Self::Expired => "no person answered in time".to_owned(),
            // The path is shown without the question's id, which is a capability.
            Self::Undeliverable => {
                "no message about the question reached a person; the list of its messages says why (GET /api/v1/suspensions/ID/deliveries)"
                    .to_owned()
            }
            Self::Withdrawn => "the question was withdrawn".to_owned(),
            Self::Superseded => "the question was superseded by a newer one".to_owned(),
            Self::TimeLost => "the server was away or its clock jumped, and the question ended without an answer".to_owned(),
            Self::PortfolioDeadline => "the deadline of a portfolio passed before a person answered".to_owned(),
            Self::QuorumUnmet => "people answered, and at the deadline not enough of them agreed".to_owned(),
        }
    }

    /// The ending as JSON, with everything but the question's id, which is a capability and must not stand in a CI log.
    pub(in crate::cli) fn json(self, record: &SuspensionRecord, replayed: bool) -> Value {
        let value = match self.value(record) {
            Some(_) => record.response.clone(),
            None => None,
        };
        json!({
            "outcome": self.outcome(),
            "source": self.source(),
            "value": value,
            "label": record.choice_label,
            "proposal": record.proposal.as_ref().filter(|_| value.is_some()),
            "responded_by": record.responded_by,
            "responded_at": record.responded_at.map(rfc3339),
            "metadata": record.metadata,
            "drafts": record.drafts,
            "question": record.question,
            "response_type": record.response_type,
            "notify_to": record.notify_to,
            "intent_id": record.intent_id,
            "suspended_at": rfc3339(record.suspended_at),
            "expires_at": record.expires_at.map(rfc3339),
            "resolved_at": record.resolved_at.map(rfc3339),
            "attempt": record.attempt,
            "replayed": replayed,
            "exit_code": self.exit_code(),
        })
    }
}
