//! The errors, by what the caller can do about them. No message here names a key, a suspension id or an answer.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::wire::DraftView;
use serde_json::Value;
use thiserror::Error;

use crate::backoff::OVERLOADED;
use crate::problem::Problem;

/// Why a client could not be made. Nothing was sent.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SetupError {
    /// The address is not a URL.
    #[error("the server's address is not a URL")]
    InvalidAddress(#[source] url::ParseError),
    /// The key of the log is written differently.
    #[error("the log's key is not written as NAME+HASH+KEY, or a part of it was lost")]
    InvalidLogKey,
    /// The address is a URL, but not that of a server: it has the wrong scheme, or a user, a query or a fragment.
    #[error("the server's address must be a plain https:// or http:// URL, without user, query or fragment")]
    UnsuitableAddress,
    /// The key would travel unencrypted.
    #[error("plain http is for loopback addresses only; use https, or allow_insecure() if the network itself is trusted")]
    Insecure,
    /// The key holds characters that no header can carry.
    #[error("the API key is empty or holds characters that no HTTP header can carry")]
    InvalidApiKey,
    /// The HTTP client could not be made, for example because the system has no root certificates.
    #[error("the HTTP client could not be made")]
    Http(#[source] reqwest::Error),
    /// The runtime of a blocking client could not be made, for example because the process may open no more files.
    #[error("the runtime of the blocking client could not be made")]
    Runtime(#[source] std::io::Error),
}

/// Why a call failed.
#[derive(Debug, Error)]
pub enum CallError {
    /// The server refused the request and has done nothing. After most refusals (4xx), sending the same request again will not
    /// help. After a 429 with a code (`rate_limited`, `bytes_spent`) the call was repeated for a while, and may be sent again
    /// later. After a 507 `no_room` the operator has to make room first, because the server's disk is nearly full.
    #[error("the server refused: {0}")]
    Refused(Box<Problem>),
    /// There was no answer, or no usable one: sending the same request again later may help.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Why a call got no usable reply although the call itself may have been right. A call that can safely be repeated was
/// repeated before this was reported.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TransportError {
    /// The server could not be reached, or the connection broke.
    #[error("the server could not be reached")]
    Network(#[source] reqwest::Error),
    /// The server, or a proxy before it, failed or was overloaded (5xx except `no_room`, 429 without a code). It is unknown
    /// whether the call took effect.
    ///
    /// A 429 with a code is reported as this variant only if something else is in doubt: an earlier try of the call may have
    /// taken effect, or the call was a wait for an answer or the look-up of a question, and that question may be open.
    #[error("the server is unavailable: {0}")]
    Unavailable(Box<Problem>),
    /// A stream of events ended, said nothing for 45 seconds, or did not begin in time.
    #[error("the stream of the server was interrupted")]
    Interrupted,
    /// The server redirects. Redirects are not followed, so that the key goes nowhere else.
    #[error("the server redirects (HTTP status {status}); configure its final address")]
    Redirected {
        /// The HTTP status.
        status: u16,
    },
    /// The body is not an answer to this call; probably the address is not that of the server.
    #[error("the server's answer cannot be read: {reason}")]
    Unreadable {
        /// Where reading stopped. The body itself is left out, because it may hold capabilities.
        reason: String,
    },
}

impl CallError {
    /// Turns a refusal of too many calls (429) into a temporary failure, because a 429 does not say whether an earlier try of
    /// this call was carried out. Every other error stays as it is.
    pub(crate) fn or_unavailable(self) -> Self {
        match self {
            Self::Refused(problem) if problem.status == 429 => TransportError::Unavailable(problem).into(),
            error @ (Self::Refused(_) | Self::Transport(_)) => error,
        }
    }
}

impl TransportError {
    /// Whether the server itself was out of reach, rather than busy, wrong or misunderstood.
    pub(crate) fn is_outage(&self) -> bool {
        match self {
            Self::Network(_) | Self::Interrupted => true,
            // A server that reports that it is too busy is not out of reach.
            Self::Unavailable(problem) => matches!(problem.status, 502..=504) && !problem.is(OVERLOADED),
            Self::Redirected { .. } | Self::Unreadable { .. } => false,
        }
    }
}

/// Why a question has no answer.
#[derive(Debug, Error)]
pub enum RequestInputError {
    /// The deadline passed without an answer and there is no fallback: the intent is abandoned.
    #[error("{}", timeout_words(*.reason))]
    InputTimeout {
        /// Whether people did not answer or were never reached.
        reason: TimeoutReason,
        /// When the question ended.
        at: Option<DateTime<Utc>>,
        /// How often people were notified.
        attempts: u32,
        /// The drafts that people had saved. A draft is no answer: its author decided nothing with it.
        drafts: Vec<DraftView>,
        /// The question that ended.
        suspension_id: SuspensionId,
    },
    /// The question was taken back before a person answered.
    #[error("{}", cancel_words(*.reason))]
    InputCancelled {
        /// Why it was taken back.
        reason: CancelReason,
        /// When it was taken back.
        at: Option<DateTime<Utc>>,
        /// The drafts that people had saved. A draft is no answer: its author decided nothing with it.
        drafts: Vec<DraftView>,
        /// The question that ended.
        suspension_id: SuspensionId,
    },
    /// There is a recorded answer, but it does not fit the requested type. The answer is valid; only this program cannot read it.
    #[error("the recorded answer does not fit the type asked for")]
    InvalidAnswer {
        /// Why it does not fit. The text may quote the answer, so it is not part of the message.
        reason: String,
        /// The recorded answer.
        raw: Value,
        /// The question it answers.
        suspension_id: SuspensionId,
    },
    /// The server has no suspensions (RFC-0025 §12): no person was asked.
    #[error("the server at this address does not implement suspensions (RFC-0025)")]
    Unsupported,
    /// The server refused the question, or refused to tell how it ended.
    #[error("the server refused: {0}")]
    Refused(Box<Problem>),
    /// The server took the question, but during the wait it stopped accepting this client's key (401, 403): the key was revoked,
    /// has expired, or has another role now.
    ///
    /// The question stays open and people can answer it. A client with a valid key of the same agent finds it by asking again, or
    /// by [`Client::pending`](crate::Client::pending).
    #[error(
        "the server no longer accepts this API key ({problem}); the question stays open: ask again with a valid key of the same agent"
    )]
    AccessLost {
        /// The server's refusal.
        problem: Box<Problem>,
        /// The question that stays open.
        suspension_id: SuspensionId,
    },
    /// The server cannot be reached. The question may be open: asking again with the same idempotency key finds it.
    #[error(transparent)]
    Transport(#[from] TransportError),
}

/// Why no person answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeoutReason {
    /// People were reached and did not answer.
    Unanswered,
    /// No message reached a person. The list of the question's messages says why: `GET /api/v1/suspensions/{id}/deliveries`.
    Undeliverable,
}

/// Why a question was taken back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CancelReason {
    /// The asker or an admin withdrew it.
    Withdrawn,
    /// A newer question replaced it.
    Superseded,
    /// The server was away, or its clock jumped, while the question was open. The question ended, because its deadline is fixed
    /// and cannot be moved to make up for the lost time.
    TimeLost,
    /// The deadline of a portfolio that the intent is in has passed; the intent is abandoned, and no fallback applies.
    PortfolioDeadline,
    /// People had answered at the deadline, and not enough of them agreed; the intent is abandoned, and no fallback applies.
    QuorumUnmet,
}

fn timeout_words(reason: TimeoutReason) -> &'static str {
    match reason {
        TimeoutReason::Unanswered => "no person answered before the deadline",
        TimeoutReason::Undeliverable => {
            "no message about the question reached a person; the list of its messages says why (GET /api/v1/suspensions/ID/deliveries)"
        }
    }
}

fn cancel_words(reason: CancelReason) -> &'static str {
    match reason {
        CancelReason::Withdrawn => "the question was withdrawn",
        CancelReason::Superseded => "the question was superseded by a newer one",
        CancelReason::TimeLost => "the server was away or its clock jumped, and the question ended without an answer",
        CancelReason::PortfolioDeadline => "the deadline of a portfolio passed before a person answered",
        CancelReason::QuorumUnmet => "people answered, and at the deadline not enough of them agreed",
    }
}

impl From<CallError> for RequestInputError {
    fn from(error: CallError) -> Self {
        match error {
            CallError::Refused(problem) => Self::Refused(problem),
            CallError::Transport(error) => Self::Transport(error),
        }
    }
}
