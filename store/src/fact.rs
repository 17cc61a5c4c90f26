//! Facts about a transaction that are counted after its commit. They hold no names, ids or texts of callers.

use chrono::TimeDelta;
use domain::intent::event::Event;
use domain::people::principal::{Assurance, Role};
use domain::suspension::delivery::BounceKind;
use domain::suspension::{FallbackPolicy, Resolution, ResolutionReason, Suspension};

/// Something that a transaction did, which is counted once the transaction is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A question was asked.
    Asked,
    /// A question ended.
    Ended {
        outcome: Outcome,
        method: Method,
        /// Whether the question expired, was undeliverable, or ended at a portfolio's deadline, and no person had been reached.
        unreached: bool,
        /// The time from the question to its ending.
        open_for: TimeDelta,
    },
    /// A deadline was applied to a question that was still open, `late` after the deadline was due.
    DeadlineApplied { late: TimeDelta },
    /// A channel was tried.
    DeliveryAttempted { channel: String, result: Attempted },
    /// A message reached a state.
    Delivery { channel: String, state: Settled },
    /// A message was reported to have come back.
    BounceReported { kind: BounceKind },
    /// No person of an attempt could be reached, and the people of the next attempt were asked at once.
    FailedOver,
    /// A message was given up because too many waited for its endpoint.
    QueueFull,
    /// An open question had lost a timer and got it back.
    TimerMended,
}

/// How a question ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Answered,
    ExpiredWithFallback,
    ExpiredFailed,
    Withdrawn,
    Superseded,
    Undeliverable,
    TimeLost,
    PortfolioDeadline,
    QuorumUnmet,
}

/// The way in which a question was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    EmailLink,
    /// A passkey signed the answer, which came by a link.
    Passkey,
    /// A person answered who had logged in.
    Session,
    ApiKey,
    /// A gateway answered, for a person it names.
    Channel,
    /// The server itself ended the question: its time ran out, or no person could be reached, or the server lost time while a
    /// question with a fixed deadline was open.
    Server,
}

/// The result of one try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempted {
    Sent,
    Retry,
    Failed,
}

/// The state of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Queued,
    Sent,
    Failed,
    Bounced,
    Obsolete,
}

impl Attempted {
    /// Every result of a try.
    pub const ALL: [Self; 3] = [Self::Sent, Self::Retry, Self::Failed];

    /// The value of the metric's label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Retry => "retry",
            Self::Failed => "failed",
        }
    }
}

impl Settled {
    /// Every state of a message.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Sent, Self::Failed, Self::Bounced, Self::Obsolete];

    /// The value of the metric's label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Queued => "queued",
            Self::Sent => "sent",
            Self::Failed => "failed",
            Self::Bounced => "bounced",
            Self::Obsolete => "obsolete",
        }
    }
}

impl Outcome {
    /// Every way in which a question can end, with each method that can end it in that way.
    pub const WITH_METHODS: [(Self, Method); 13] = [
        (Self::Answered, Method::EmailLink),
        (Self::Answered, Method::Session),
        (Self::Answered, Method::Passkey),
        (Self::Answered, Method::ApiKey),
        (Self::Answered, Method::Channel),
        (Self::ExpiredWithFallback, Method::Server),
        (Self::ExpiredFailed, Method::Server),
        (Self::Withdrawn, Method::ApiKey),
        (Self::Superseded, Method::ApiKey),
        (Self::Undeliverable, Method::Server),
        (Self::TimeLost, Method::Server),
        (Self::PortfolioDeadline, Method::Server),
        (Self::QuorumUnmet, Method::Server),
    ];

    /// The value of the metric's label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::ExpiredWithFallback => "expired_with_fallback",
            Self::ExpiredFailed => "expired_failed",
            Self::Withdrawn => "withdrawn",
            Self::Superseded => "superseded",
            Self::Undeliverable => "undeliverable",
            Self::TimeLost => "time_lost",
            Self::PortfolioDeadline => "portfolio_deadline",
            Self::QuorumUnmet => "quorum_unmet",
        }
    }
}

impl Method {
    /// The methods by which a question can be answered.
    pub const OF_ANSWERS: [Self; 5] = [Self::EmailLink, Self::Session, Self::Passkey, Self::ApiKey, Self::Channel];

    /// The value of the metric's label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmailLink => "email_link",
            Self::Session => "session",
            Self::Passkey => "passkey",
            Self::ApiKey => "api_key",
            Self::Channel => "channel",
            Self::Server => "server",
        }
    }

    fn of(event: &Event, by_somebody: bool) -> Self {
        let Event::Resumed(resumed) = event else {
            return if by_somebody { Self::ApiKey } else { Self::Server };
        };
        match (resumed.role, resumed.assurance) {
            (Role::Channel, _) => Self::Channel,
            (_, Assurance::EmailLink) => Self::EmailLink,
            (_, Assurance::Passkey) => Self::Passkey,
            (_, Assurance::ApiKey) => Self::ApiKey,
            (_, Assurance::Session | Assurance::RecentLogin) => Self::Session,
            // The server and the accounts of the machine answer no questions.
            (_, Assurance::Server | Assurance::Local) => Self::Server,
        }
    }
}

impl Fact {
    /// The ending that `event` brought to a suspension; `None` while the suspension is open.
    pub(super) fn of_ending(event: &Event, ended: &Suspension) -> Option<Self> {
        let ending = ended.ending.as_ref()?;
        let outcome = match (ending.resolution, ending.reason) {
            (Resolution::Responded, _) => Outcome::Answered,
            (Resolution::Expired, _) if ended.fallback_policy == FallbackPolicy::Fail => Outcome::ExpiredFailed,
            (Resolution::Expired, _) => Outcome::ExpiredWithFallback,
            (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => Outcome::Undeliverable,
            (Resolution::Cancelled, Some(ResolutionReason::TimeLost)) => Outcome::TimeLost,
            (Resolution::Cancelled, Some(ResolutionReason::PortfolioDeadline)) => Outcome::PortfolioDeadline,
            (Resolution::Cancelled, Some(ResolutionReason::QuorumUnmet)) => Outcome::QuorumUnmet,
            (Resolution::Cancelled, Some(ResolutionReason::Superseded)) => Outcome::Superseded,
            (Resolution::Cancelled, Some(ResolutionReason::Withdrawn) | None) => Outcome::Withdrawn,
        };
        let ran_out = matches!(
            outcome,
            Outcome::ExpiredWithFallback | Outcome::ExpiredFailed | Outcome::Undeliverable | Outcome::PortfolioDeadline
        );
        Some(Self::Ended {
            outcome,
            method: Method::of(event, !ran_out && !matches!(outcome, Outcome::TimeLost | Outcome::QuorumUnmet)),
            unreached: ran_out && !ended.reached,
            open_for: (ending.at - ended.suspended_at).max(TimeDelta::zero()),
        })
    }
}
