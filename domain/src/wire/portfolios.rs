//! Bodies about portfolios (RFC-0007).

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::{IntentId, MembershipId, PortfolioId};
use crate::base::json::present;
use crate::intent::status::Status;
use crate::portfolio::membership::{Membership, MembershipRole};
use crate::portfolio::{Portfolio, PortfolioStatus};
use crate::wire::IntentView;

/// `POST /api/v1/portfolios`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreatePortfolioRequest {
    /// Its name.
    #[schema(min_length = 1, max_length = 200, examples("Refunds of November"))]
    pub name: String,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 65_536)]
    pub description: Option<String>,
    /// The creator, as the caller states it. The credential says who created the portfolio; another name here is kept as
    /// `claimed_created_by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub created_by: Option<String>,
    /// Its rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PortfolioPolicyRequest>)]
    pub governance_policy: Option<Map<String, Value>>,
    /// The rules, under the name that the RFC gives them; must equal `governance_policy` if both are given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PortfolioPolicyRequest>)]
    pub governance: Option<Map<String, Value>>,
    /// Must be absent or null: the deadline is a rule of `governance_policy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub deadline: Option<Value>,
    /// Data, which mean nothing to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// The rules of a portfolio. Other members are refused.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PortfolioPolicyRequest {
    /// Whether the portfolio can be completed only when all its intents are.
    pub require_all_completed: Option<bool>,
    /// The moment from which no person can answer a question of its intents, RFC 3339, in the future. Questions that are open then
    /// end as `cancelled` without a fallback, and their intents are abandoned.
    #[schema(format = DateTime)]
    pub deadline: Option<String>,
}

/// `PATCH /api/v1/portfolios/{id}`: an absent member changes nothing. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdatePortfolioRequest {
    /// Its name; null is refused.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = String, min_length = 1, max_length = 200)]
    pub name: Option<String>,
    /// Its description; null removes it.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<String>, max_length = 65_536)]
    pub description: Option<Option<String>>,
    /// Its rules, in place of all present rules; null and `{}` remove them.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<PortfolioPolicyRequest>)]
    pub governance_policy: Option<Map<String, Value>>,
    /// The rules, under the name that the RFC gives them; must equal `governance_policy` if both are given.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<PortfolioPolicyRequest>)]
    pub governance: Option<Map<String, Value>>,
    /// Must be absent or null: the deadline is a rule of `governance_policy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub deadline: Option<Value>,
    /// Must be absent or null: `PATCH …/status` changes the status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub status: Option<Value>,
    /// Data, in place of all present data; null and `{}` remove them.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// `PATCH /api/v1/portfolios/{id}/status`. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SetPortfolioStatusRequest {
    /// The new status; `completed` and `abandoned` are final.
    pub status: PortfolioStatus,
}

/// `POST /api/v1/portfolios/{id}/intents`. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AddToPortfolioRequest {
    /// The intent.
    pub intent_id: String,
    /// The part that it plays; `member` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<MembershipRole>,
    /// The priority: intents with a higher one stand further up in lists; 0 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = -1_000_000, maximum = 1_000_000)]
    pub priority: Option<i64>,
}

/// The progress of the intents of a portfolio.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AggregateStatus {
    /// How many intents there are.
    pub total: u64,
    /// How many intents have each of the six statuses.
    pub by_status: ByStatus,
    /// The percentage of completed intents, rounded down; 0 without intents.
    pub completion_percentage: u64,
    /// All of them in one word.
    pub status: AggregateWord,
    /// Where the intents themselves are shown: the intents that are not completed and for which one of those shown waits.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocking_intents: Option<Vec<IntentId>>,
    /// Where the intents themselves are shown: those that could be worked on now, because they are drafts or active and wait for no
    /// other one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ready_intents: Option<Vec<IntentId>>,
}

/// The progress of several intents in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AggregateWord {
    /// No intent was abandoned, and not all are completed.
    InProgress,
    /// There are intents, and all are completed.
    Completed,
    /// At least one intent was abandoned.
    Failed,
}

/// How many intents have each of the six statuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ByStatus {
    /// Being written.
    pub draft: u64,
    /// Being worked on.
    pub active: u64,
    /// Waiting for something that is not a person.
    pub blocked: u64,
    /// Waiting for a person.
    pub suspended_awaiting_input: u64,
    /// Done.
    pub completed: u64,
    /// Given up.
    pub abandoned: u64,
}

impl AggregateStatus {
    /// Adds up how many intents have each status.
    pub fn of(counts: impl IntoIterator<Item = (Status, u64)>) -> Self {
        let (mut total, mut by_status) = (0, ByStatus::default());
        for (status, count) in counts {
            let sum = match status {
                Status::Draft => &mut by_status.draft,
                Status::Active => &mut by_status.active,
                Status::Blocked => &mut by_status.blocked,
                Status::SuspendedAwaitingInput => &mut by_status.suspended_awaiting_input,
                Status::Completed => &mut by_status.completed,
                Status::Abandoned => &mut by_status.abandoned,
            };
            *sum += count;
            total += count;
        }
        let status = match by_status {
            ByStatus { abandoned: 1.., .. } => AggregateWord::Failed,
            ByStatus { completed, .. } if completed > 0 && completed == total => AggregateWord::Completed,
            ByStatus { .. } => AggregateWord::InProgress,
        };
        let completion_percentage = (by_status.completed * 100).checked_div(total).unwrap_or(0);
        Self { total, by_status, completion_percentage, status, blocking_intents: None, ready_intents: None }
    }

    /// Names the intents that hold others up, oldest first, and those that could be worked on now. Each intent that is shown comes with
    /// its status and the dependencies for which it waits.
    #[must_use]
    pub fn naming<'a>(self, shown: impl IntoIterator<Item = (IntentId, Status, &'a [IntentId])>) -> Self {
        let (mut blocking, mut ready) = (BTreeSet::new(), Vec::new());
        for (id, status, blocked_by) in shown.into_iter().filter(|(_, status, _)| !status.is_final()) {
            blocking.extend(blocked_by);
            if matches!(status, Status::Draft | Status::Active) && blocked_by.is_empty() {
                ready.push(id);
            }
        }
        Self { blocking_intents: Some(blocking.into_iter().copied().collect()), ready_intents: Some(ready), ..self }
    }
}

/// A portfolio as the OpenIntent client reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PortfolioView {
    /// Its id.
    pub id: PortfolioId,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// The name of the credential that created it.
    pub created_by: String,
    /// The creator that the request named, if the credential has another name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_created_by: Option<String>,
    /// Its status.
    pub status: PortfolioStatus,
    /// Data of its creator.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// Its rules.
    #[schema(value_type = Object)]
    pub governance_policy: Map<String, Value>,
    /// The rules, under the RFC's name.
    #[schema(value_type = Object)]
    pub governance: Map<String, Value>,
    /// When it was created.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub created_at: DateTime<Utc>,
    /// When it last changed; intents that are added or removed do not change it.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub updated_at: DateTime<Utc>,
    /// When it was created, under the only name that the client reads.
    #[serde(rename = "createdAt", with = "crate::base::time::naive_form")]
    #[schema(value_type = String)]
    pub created_at_for_client: DateTime<Utc>,
    /// When it last changed, under the only name that the client reads.
    #[serde(rename = "updatedAt", with = "crate::base::time::naive_form")]
    #[schema(value_type = String)]
    pub updated_at_for_client: DateTime<Utc>,
    /// Whether any of its intents waits for a person.
    pub has_suspended_members: bool,
    /// How many of its intents wait for a person.
    pub suspended_member_count: u64,
    /// The progress of all its intents.
    pub aggregate_status: AggregateStatus,
}

impl PortfolioView {
    /// A portfolio as it is shown.
    pub fn of(portfolio: Portfolio, aggregate_status: AggregateStatus) -> Self {
        let Portfolio { id, status, created_by, created_at, updated_at, body } = portfolio;
        let policy = body.policy.to_object();
        Self {
            id,
            name: body.name,
            description: body.description,
            created_by: created_by.name,
            claimed_created_by: body.claimed_created_by,
            status,
            metadata: body.metadata,
            governance_policy: policy.clone(),
            governance: policy,
            created_at,
            updated_at,
            created_at_for_client: created_at,
            updated_at_for_client: updated_at,
            has_suspended_members: aggregate_status.by_status.suspended_awaiting_input > 0,
            suspended_member_count: aggregate_status.by_status.suspended_awaiting_input,
            aggregate_status,
        }
    }
}

/// An intent, and its place in a portfolio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemberView {
    /// The intent.
    #[serde(flatten)]
    pub intent: IntentView,
    /// The intent's id, under the name of the RFC.
    pub intent_id: IntentId,
    /// The part that it plays.
    pub role: MembershipRole,
    /// The priority: intents with a higher one stand further up in lists.
    pub priority: i32,
    /// When the intent was added to the portfolio.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub added_at: DateTime<Utc>,
}

impl MemberView {
    /// An intent in a portfolio as it is shown.
    pub fn of(intent: IntentView, membership: &Membership) -> Self {
        let &Membership { role, priority, added_at, .. } = membership;
        Self { intent_id: intent.id, intent, role, priority, added_at }
    }
}

/// An intent of a portfolio that waits for a person.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct SuspendedPhase {
    /// Its title.
    pub phase_name: String,
    /// Its id.
    pub intent_id: IntentId,
    /// The time since which it waits.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String)]
    pub suspended_since: DateTime<Utc>,
    /// The deadline of the question itself; null if it has none. The deadline of the portfolio may be earlier.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<DateTime<Utc>>,
}

/// The intents of a portfolio.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct MemberList {
    /// The intents of the portfolio that the caller may read, by priority, the highest first, and then the oldest intent first.
    pub intents: Vec<MemberView>,
    /// The `offset` of the next page; null on the last page. A page ends early after 8 MiB.
    pub next_offset: Option<u32>,
    /// The progress of all intents of the portfolio.
    pub aggregate_status: AggregateStatus,
}

/// A portfolio with its intents.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct WholePortfolioView {
    /// The portfolio.
    #[serde(flatten)]
    pub portfolio: PortfolioView,
    /// The intents that the caller may read, by priority, the highest first, and then the oldest intent first.
    pub intents: Vec<MemberView>,
    /// Those of these intents that wait for a person.
    pub suspended_phases: Vec<SuspendedPhase>,
    /// The `offset` at which `…/intents` returns the further intents; null if there are none. `intents` ends early after
    /// 8 MiB.
    pub next_offset: Option<u32>,
}

impl WholePortfolioView {
    /// The intents alone.
    pub fn into_members(self) -> MemberList {
        let Self { portfolio, intents, suspended_phases: _, next_offset } = self;
        MemberList { intents, next_offset, aggregate_status: portfolio.aggregate_status }
    }
}

/// The place of an intent in a portfolio.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct MembershipView {
    /// Its id.
    pub id: MembershipId,
    /// The portfolio.
    pub portfolio_id: PortfolioId,
    /// The intent.
    pub intent_id: IntentId,
    /// The part that it plays.
    pub role: MembershipRole,
    /// The priority: intents with a higher one stand further up in lists.
    pub priority: i32,
    /// When the intent was added to the portfolio.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub added_at: DateTime<Utc>,
}

impl MembershipView {
    /// The place of the intent as it is shown.
    pub fn of(portfolio_id: PortfolioId, intent_id: IntentId, membership: &Membership) -> Self {
        let &Membership { id, role, priority, added_at } = membership;
        Self { id, portfolio_id, intent_id, role, priority, added_at }
    }
}

/// The reply to an intent that was taken out of a portfolio.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RemovedFromPortfolio {
    /// A sentence for people.
    pub message: String,
}

/// An event of a portfolio's own log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PortfolioEventView {
    /// Its id.
    pub id: String,
    /// The portfolio.
    pub portfolio_id: PortfolioId,
    /// Its place in the log, from 1.
    pub sequence: u64,
    /// Its type.
    pub event_type: String,
    /// The name of the key that caused it.
    pub actor: String,
    /// The event's own members.
    #[schema(value_type = Object)]
    pub payload: Map<String, Value>,
    /// When it happened, naive UTC.
    pub created_at: String,
    /// The hash of the event before it.
    pub previous_event_hash: Option<String>,
    /// 32 random bytes, so that a removed payload cannot be guessed from the hash.
    pub salt: String,
    /// The hash of all members above.
    pub event_hash: String,
}
