//! The numbers that stand for the values of enums in rows: fixed, and never reused.

use domain::container::plan::PlanState;
use domain::container::task::TaskStatus;
use domain::intent::fate::Fate;
use domain::intent::status::Status;
use domain::people::access::Permission;
use domain::people::identity::LoginMethod;
use domain::people::principal::Role;
use domain::portfolio::PortfolioStatus;
use domain::portfolio::membership::MembershipRole;
use domain::suspension::lease::LeaseStatus;
use domain::suspension::stop::{Provider, Stage};
use domain::suspension::{FallbackPolicy, Kind, Resolution, ResolutionReason, ResponseType};

use super::error::RowsError;
use super::graph::EdgeKind;

/// An enum with a fixed number for each value.
pub(crate) trait Code: Copy + Sized {
    fn code(self) -> i32;
    fn from_code(code: i32) -> Result<Self, RowsError>;
}

macro_rules! code {
    ($type:ident { $($value:ident = $code:literal),* $(,)? }) => {
        impl Code for $type {
            fn code(self) -> i32 {
                match self { $(Self::$value => $code),* }
            }
            fn from_code(code: i32) -> Result<Self, RowsError> {
                match code {
                    $($code => Ok(Self::$value),)*
                    _ => Err(RowsError::Inconsistent(concat!("unknown code of ", stringify!($type)))),
                }
            }
        }
    };
}

code!(Status { Draft = 0, Active = 1, Blocked = 2, SuspendedAwaitingInput = 3, Completed = 4, Abandoned = 5 });
// The statuses of tasks that are not finished come first; a query relies on that.
code!(TaskStatus {
    Pending = 0, Ready = 1, Claimed = 2, Running = 3, Blocked = 4, Completed = 5, Failed = 6, Cancelled = 7, Skipped = 8,
});
// The states of plans that have not ended come first, for the same reason.
code!(PlanState { Draft = 0, Active = 1, Paused = 2, Completed = 3, Failed = 4, Cancelled = 5 });
code!(EdgeKind { Dependency = 0, Child = 1 });
code!(Kind { AwaitingInput = 0, Paused = 1, Parked = 2, Approval = 3, Escalation = 4, Arbitration = 5, Stopping = 6 });
// 0 stands for any of them.
code!(Provider { Placet = 1, Webhook = 2 });
code!(Stage { Requested = 0, Quiescing = 1, Suspended = 2 });
code!(ResponseType { Choice = 0, Confirm = 1, Text = 2, Form = 3 });
code!(FallbackPolicy { Fail = 0, CompleteWithFallback = 1, UseDefaultAndContinue = 2 });
code!(Resolution { Responded = 0, Expired = 1, Cancelled = 2 });
code!(ResolutionReason { Withdrawn = 0, Superseded = 1, Undeliverable = 2, TimeLost = 3, PortfolioDeadline = 4, QuorumUnmet = 5 });
code!(Fate { Open = 0, Completed = 1, Failed = 2, Withdrawn = 3 });
code!(LeaseStatus { Active = 0, Released = 1, Expired = 2 });
code!(Permission { Read = 0, Write = 1, Admin = 2 });
code!(PortfolioStatus { Active = 0, Completed = 1, Abandoned = 2 });
code!(MembershipRole { Primary = 0, Member = 1, Dependency = 2 });
code!(Role { Agent = 0, Operator = 1, Admin = 2, Auditor = 3, Channel = 4, Verifier = 5 });
code!(LoginMethod { Mail = 0, OpenId = 1 });
code!(TimerKind { Deadline = 0, Attempt = 1, Portfolio = 2 });
code!(DeliveryState { Queued = 0, Sent = 1, Failed = 2, Obsolete = 3, Bounced = 4 });

code!(Source { Intents = 1, Portfolios = 2, Server = 3 });

/// The tables that hold events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    /// The logs of intents.
    Intents,
    /// The logs of portfolios.
    Portfolios,
    /// The server's own log.
    Server,
}

/// The kinds of timers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TimerKind {
    /// The deadline: ends the suspension.
    Deadline,
    /// The next attempt: asks again.
    Attempt,
    /// The deadline of a portfolio: ends the suspension.
    Portfolio,
}

/// The state of a message's row; a queued message may be leased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DeliveryState {
    Queued,
    Sent,
    Failed,
    /// The message was not sent, because its question ended or another message asks the same.
    Obsolete,
    /// The message was accepted and came back.
    Bounced,
}
