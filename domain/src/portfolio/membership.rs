//! The membership of an intent in a portfolio. Its changes are events of the intent's own log.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::{MembershipId, PortfolioId, SuspensionId};
use crate::people::principal::Credential;
use crate::portfolio::Portfolio;
use crate::suspension::{PortfolioDeadline, Resolution};

/// The type of the events that put an intent into a portfolio, or change its role or priority there.
pub const ADDED: &str = "added_to_portfolio";
/// The type of the events that take an intent out of a portfolio.
pub const REMOVED: &str = "removed_from_portfolio";
/// The type of the events that say that an intent of a portfolio waits for a person.
pub const SUSPENDED: &str = "portfolio.member_suspended";
/// The type of the events that say that an intent of a portfolio no longer waits for a person.
pub const RESUMED: &str = "portfolio.member_resumed";
/// The highest priority; the lowest is as far below zero.
pub const PRIORITY_MAX: u32 = 1_000_000;

/// The part that an intent plays in a portfolio; it means nothing to the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum MembershipRole {
    /// The goal.
    Primary,
    /// A part of the work.
    #[default]
    Member,
    /// A part that others need.
    Dependency,
}

/// The membership of an intent in a portfolio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Membership {
    /// Its id, which stays the same when the role or the priority changes.
    pub id: MembershipId,
    /// The part that the intent plays.
    pub role: MembershipRole,
    /// The priority: intents with a higher one stand further up in lists.
    pub priority: i32,
    /// When the intent was put there first.
    pub added_at: DateTime<Utc>,
}

/// An intent that was put into a portfolio; the payload of `added_to_portfolio`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// The id of its membership.
    pub id: MembershipId,
    /// The portfolio.
    pub portfolio_id: PortfolioId,
    /// The part that it plays.
    pub role: MembershipRole,
    /// Its priority.
    pub priority: i32,
    /// The credential that put it there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// An intent that was taken out of a portfolio; the payload of `removed_from_portfolio`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// The portfolio.
    pub portfolio_id: PortfolioId,
    /// The credential that took it out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// An intent of a portfolio that waits for a person; the payload of `portfolio.member_suspended`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberSuspended {
    /// The portfolio.
    pub portfolio_id: PortfolioId,
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// How many intents of the portfolio wait for a person now.
    pub suspended_member_count: u64,
}

/// An intent of a portfolio that no longer waits for a person; the payload of `portfolio.member_resumed`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemberResumed {
    /// The portfolio.
    pub portfolio_id: PortfolioId,
    /// The suspension.
    pub suspension_id: SuspensionId,
    /// How many intents of the portfolio still wait for a person.
    pub suspended_member_count: u64,
    /// How the suspension ended.
    pub resolution: Resolution,
}

/// A change that an intent reports to a portfolio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberEvent {
    /// The intent waits for a person.
    Suspended(MemberSuspended),
    /// The intent no longer waits for a person.
    Resumed(MemberResumed),
}

impl MemberEvent {
    /// The portfolio.
    pub fn portfolio_id(self) -> PortfolioId {
        match self {
            Self::Suspended(MemberSuspended { portfolio_id, .. }) | Self::Resumed(MemberResumed { portfolio_id, .. }) => {
                portfolio_id
            }
        }
    }

    /// The same event with its count filled in. `others` is the number of other intents in the portfolio that wait for a person;
    /// only a store can count them.
    #[must_use]
    pub fn beside(self, others: u64) -> Self {
        match self {
            Self::Suspended(suspended) => Self::Suspended(MemberSuspended { suspended_member_count: others + 1, ..suspended }),
            Self::Resumed(resumed) => Self::Resumed(MemberResumed { suspended_member_count: others, ..resumed }),
        }
    }

    /// The name on the wire.
    pub fn event_type(self) -> &'static str {
        match self {
            Self::Suspended(_) => SUSPENDED,
            Self::Resumed(_) => RESUMED,
        }
    }
}

/// An active portfolio that an intent is in, as far as decisions about the intent need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemberOf {
    /// The portfolio.
    pub portfolio_id: PortfolioId,
    /// Its deadline.
    pub deadline: Option<DateTime<Utc>>,
}

/// The earliest deadline of these portfolios.
pub fn earliest_deadline(member_of: &[MemberOf]) -> Option<PortfolioDeadline> {
    let deadlines = member_of
        .iter()
        .filter_map(|&MemberOf { portfolio_id, deadline }| deadline.map(|at| PortfolioDeadline { portfolio_id, at }));
    deadlines.min_by_key(|deadline| deadline.at)
}

/// A request to put an intent into a portfolio, or to change its role or priority there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Join {
    /// The id that a new membership will have.
    pub id: MembershipId,
    /// The portfolio.
    pub portfolio_id: PortfolioId,
    /// The part that the intent plays.
    pub role: MembershipRole,
    /// Its priority.
    pub priority: i32,
}

/// A portfolio, with the facts that decide whether an intent may be put into it or taken out.
#[derive(Clone, Debug, PartialEq)]
pub struct Joined {
    /// The portfolio.
    pub portfolio: Portfolio,
    /// How many intents are in it.
    pub members: usize,
    /// In how many portfolios the intent is.
    pub portfolios_of_intent: usize,
    /// The membership of the intent, if it is in the portfolio.
    pub membership: Option<Membership>,
}
