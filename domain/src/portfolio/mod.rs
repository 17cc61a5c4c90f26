//! A portfolio: intents that belong together, under one name (RFC-0007).
//!
//! The events and payloads are in a log that is verified for ever, so a member never changes its name or its form.

pub mod change;
pub mod event;
pub mod membership;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use utoipa::ToSchema;

use crate::base::ids::PortfolioId;
use crate::base::name::is_same;
use crate::base::time::rfc3339;
use crate::suspension::Asker;

/// The longest name of a portfolio, in characters.
pub const NAME_MAX: usize = 200;
/// The most intents in one portfolio.
pub const MEMBERS_MAX: usize = 1_000;
/// The most portfolios that one intent is in.
pub const PORTFOLIOS_OF_INTENT_MAX: usize = 10;
/// The most events in the log of one portfolio; the last one is left for the end of the portfolio.
pub const EVENTS_MAX: u64 = 1_000;
/// The member of a policy that lets a portfolio be completed only when all its intents are.
pub const REQUIRE_ALL_COMPLETED: &str = "require_all_completed";
/// The member of a policy that sets a deadline.
pub const DEADLINE: &str = "deadline";
/// The farthest deadline from now, in days.
pub const DEADLINE_DAYS_MAX: u32 = 3_660;

/// The status of a portfolio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PortfolioStatus {
    /// Being worked on.
    Active,
    /// Done.
    Completed,
    /// Given up.
    Abandoned,
}

impl PortfolioStatus {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Completed => "completed",
            Self::Abandoned => "abandoned",
        }
    }
}

/// The rules that a portfolio sets; also the member `governance_policy` of the payload of `portfolio_created`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortfolioPolicy {
    /// Whether the portfolio can be completed only when all its intents are; absent if the creator did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub require_all_completed: Option<bool>,
    /// The moment from which no person can answer a question of its intents (RFC-0026 §3, rule 5).
    #[serde(default, skip_serializing_if = "Option::is_none", with = "crate::base::time::z_option")]
    pub deadline: Option<DateTime<Utc>>,
}

impl PortfolioPolicy {
    /// The rules as they are shown and stored.
    pub fn to_object(self) -> Map<String, Value> {
        let rule = self.require_all_completed.map(|rule| (REQUIRE_ALL_COMPLETED.to_owned(), json!(rule)));
        let deadline = self.deadline.map(|at| (DEADLINE.to_owned(), json!(rfc3339(at))));
        rule.into_iter().chain(deadline).collect()
    }
}

/// The words and data of a portfolio.
#[derive(Clone, Debug, PartialEq)]
pub struct PortfolioBody {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Data of its creator, which mean nothing to the server.
    pub metadata: Map<String, Value>,
    /// Its rules.
    pub policy: PortfolioPolicy,
    /// The creator that the request named, if the credential has another name.
    pub claimed_created_by: Option<String>,
}

/// New words, data or rules of a portfolio; an absent member changes nothing.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PortfolioUpdate {
    /// The name.
    pub name: Option<String>,
    /// The description; `Some(None)` removes it.
    pub description: Option<Option<String>>,
    /// The data, in place of all present data.
    pub metadata: Option<Map<String, Value>>,
    /// The rules, in place of all present rules.
    pub policy: Option<PortfolioPolicy>,
}

/// A portfolio, without the intents in it.
#[derive(Clone, Debug, PartialEq)]
pub struct Portfolio {
    /// Its id.
    pub id: PortfolioId,
    /// Its status.
    pub status: PortfolioStatus,
    /// The credential that created it.
    pub created_by: Asker,
    /// When it was created.
    pub created_at: DateTime<Utc>,
    /// When it last changed; intents that are added or removed do not change it.
    pub updated_at: DateTime<Utc>,
    /// Its words and data.
    pub body: PortfolioBody,
}

impl Portfolio {
    /// Whether the deadline of the portfolio may end questions of an intent that `created_by` created. It may if `created_by`
    /// created the portfolio, too; another creator has not agreed to the deadline.
    pub fn acts_on(&self, created_by: &Asker) -> bool {
        is_same(&self.created_by.name, &created_by.name) && self.created_by.owner == created_by.owner
    }

    /// Whether its deadline has passed.
    pub fn is_over(&self, now: DateTime<Utc>) -> bool {
        self.body.policy.deadline.is_some_and(|at| at <= now)
    }
}
