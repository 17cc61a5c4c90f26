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
use crate::suspension::Asker;

/// The longest name of a portfolio, in characters.
pub const NAME_MAX: usize = 200;
/// The most intents in one portfolio.
pub const MEMBERS_MAX: usize = 1_000;
/// The most portfolios that one intent is in.
pub const PORTFOLIOS_OF_INTENT_MAX: usize = 100;
/// The member of a policy that lets a portfolio be completed only when all its intents are.
pub const REQUIRE_ALL_COMPLETED: &str = "require_all_completed";

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
}

impl PortfolioPolicy {
    /// The rules as they are shown and stored.
    pub fn to_object(self) -> Map<String, Value> {
        let rule = self.require_all_completed.map(|rule| (REQUIRE_ALL_COMPLETED.to_owned(), json!(rule)));
        rule.into_iter().collect()
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
