//! What a transaction did that is counted after its commit: facts without names, ids or words of callers.

use chrono::TimeDelta;
use domain::intent::event::Event;
use domain::people::principal::{Assurance, Role};
use domain::suspension::delivery::BounceKind;
use domain::suspension::{FallbackPolicy, Resolution, ResolutionReason, Suspension};

/// Something a transaction did that is counted once it is committed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fact {
    /// A question was asked.
    Asked,
    /// A question ended.
    Ended {
        outcome: Outcome,
        method: Method,
        /// Its time ran out, and nobody had been reached.
        unreached: bool,
        /// From question to ending.
        open_for: TimeDelta,
    },
    /// The timer of a question that was still open was dealt with, so long after it was due.
    DeadlineApplied { late: TimeDelta },
    /// A channel was tried.
    DeliveryAttempted { channel: String, result: Attempted },
    /// A message reached a state.
    Delivery { channel: String, state: Settled },
    /// A message was reported to have come back.
    BounceReported { kind: BounceKind },
    /// Nobody of an attempt could be reached, and the next rung's people were asked at once.
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
}

/// What ended it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    EmailLink,
    ApiKey,
    /// A gateway, for somebody it names.
    Channel,
    /// The server itself: time ran out.
    Server,
}

/// What came of one try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempted {
    Sent,
    Retry,
    Failed,
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Settled {
    Queued,
    Sent,
    Failed,
    Bounced,
    Obsolete,
}

impl Attempted {
    /// Everything that can come of one.
    pub const ALL: [Self; 3] = [Self::Sent, Self::Retry, Self::Failed];

    /// The word in the label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Sent => "sent",
            Self::Retry => "retry",
            Self::Failed => "failed",
        }
    }
}

impl Settled {
    /// Every state there is.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Sent, Self::Failed, Self::Bounced, Self::Obsolete];

    /// The word in the label.
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
    /// Every way a question can end, with what can end it so.
    pub const WITH_METHODS: [(Self, Method); 8] = [
        (Self::Answered, Method::EmailLink),
        (Self::Answered, Method::ApiKey),
        (Self::Answered, Method::Channel),
        (Self::ExpiredWithFallback, Method::Server),
        (Self::ExpiredFailed, Method::Server),
        (Self::Withdrawn, Method::ApiKey),
        (Self::Superseded, Method::ApiKey),
        (Self::Undeliverable, Method::Server),
    ];

    /// The word in the label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Answered => "answered",
            Self::ExpiredWithFallback => "expired_with_fallback",
            Self::ExpiredFailed => "expired_failed",
            Self::Withdrawn => "withdrawn",
            Self::Superseded => "superseded",
            Self::Undeliverable => "undeliverable",
        }
    }
}

impl Method {
    /// Those that answer.
    pub const OF_ANSWERS: [Self; 3] = [Self::EmailLink, Self::ApiKey, Self::Channel];

    /// The word in the label.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::EmailLink => "email_link",
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
            (_, Assurance::ApiKey) => Self::ApiKey,
            // No account of the machine answers a question.
            (_, Assurance::Server | Assurance::Local) => Self::Server,
        }
    }
}

impl Fact {
    /// The ending `event` brought upon a suspension; `None` while it is open.
    pub(super) fn of_ending(event: &Event, ended: &Suspension) -> Option<Self> {
        let ending = ended.ending.as_ref()?;
        let outcome = match (ending.resolution, ending.reason) {
            (Resolution::Responded, _) => Outcome::Answered,
            (Resolution::Expired, _) if ended.fallback_policy == FallbackPolicy::Fail => Outcome::ExpiredFailed,
            (Resolution::Expired, _) => Outcome::ExpiredWithFallback,
            (Resolution::Cancelled, Some(ResolutionReason::Undeliverable)) => Outcome::Undeliverable,
            (Resolution::Cancelled, Some(ResolutionReason::Superseded)) => Outcome::Superseded,
            (Resolution::Cancelled, Some(ResolutionReason::Withdrawn) | None) => Outcome::Withdrawn,
        };
        let ran_out = matches!(outcome, Outcome::ExpiredWithFallback | Outcome::ExpiredFailed | Outcome::Undeliverable);
        Some(Self::Ended {
            outcome,
            method: Method::of(event, !ran_out),
            unreached: ran_out && !ended.reached,
            open_for: (ending.at - ended.suspended_at).max(TimeDelta::zero()),
        })
    }
}
