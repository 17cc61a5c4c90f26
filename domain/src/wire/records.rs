//! Bodies about the data that agents keep with an intent (RFC-0005, RFC-0009, RFC-0010, RFC-0013).
//!
//! The OpenIntent client reads some times in camel case only, so each of those times has both names.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

use crate::base::ids::IntentId;
use crate::intent::record::{Attachment, Cost, Decision, Failure, Record, RetryPolicy, RetryStrategy};
use crate::wire::EventView;

/// `POST /api/v1/intents/{id}/decisions`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RecordDecisionRequest {
    /// The kind of decision.
    #[schema(min_length = 1, max_length = 200, examples("approach_selected"))]
    pub decision_type: String,
    /// The outcome.
    #[schema(min_length = 1, max_length = 2_000)]
    pub outcome: String,
    /// The reasons; at most 16 KiB.
    #[serde(default)]
    #[schema(max_length = 16_384)]
    pub reasoning: String,
}

/// `POST /api/v1/intents/{id}/attachments`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AddAttachmentRequest {
    /// The name of the file.
    #[schema(min_length = 1, max_length = 255, examples("invoice.pdf"))]
    pub filename: String,
    /// Its media type; `content_type` means the same.
    #[serde(default, alias = "content_type")]
    #[schema(max_length = 200, examples("application/pdf"))]
    pub mime_type: String,
    /// Its size in bytes; `size_bytes` means the same.
    #[serde(default, alias = "size_bytes")]
    #[schema(maximum = 9_007_199_254_740_991_u64)]
    pub size: u64,
    /// Where it is kept; the server never reads it. `url` means the same.
    #[serde(alias = "url")]
    #[schema(min_length = 1, max_length = 2_000, examples("s3://bucket/invoice.pdf"))]
    pub storage_url: String,
    /// Further members; at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// `POST /api/v1/intents/{id}/costs`. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecordCostRequest {
    /// The agent that caused the cost. If the key may not act for this agent, the name is kept as `claimed_agent_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub agent_id: Option<String>,
    /// The kind of cost.
    #[schema(min_length = 1, max_length = 200, examples("tokens"))]
    pub cost_type: String,
    /// The amount.
    #[schema(value_type = f64)]
    pub amount: Number,
    /// The unit of the amount.
    #[schema(min_length = 1, max_length = 200, examples("tokens"))]
    pub unit: String,
    /// The provider that is paid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub provider: Option<String>,
    /// Further members; at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// `POST /api/v1/intents/{id}/failures`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct RecordFailureRequest {
    /// The agent whose work failed. If the key may not act for this agent, the name is kept as `claimed_agent_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub agent_id: Option<String>,
    /// The number of the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1_000_000)]
    pub attempt_number: Option<u32>,
    /// The code of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub error_code: Option<String>,
    /// The type of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub error_type: Option<String>,
    /// The message of the error; at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 16_384)]
    pub error_message: Option<String>,
    /// Whether another attempt may succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recoverable: Option<bool>,
    /// When the agent means to try again. It wins over the pause of the retry policy, within 30 days.
    #[serde(default, with = "crate::base::time::naive_option", skip_serializing_if = "Option::is_none")]
    pub retry_scheduled_at: Option<DateTime<Utc>>,
    /// Further members; at most 16 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// `PUT /api/v1/intents/{id}/retry-policy`. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetRetryPolicyRequest {
    /// How the pause between two tries grows.
    pub strategy: RetryStrategy,
    /// How often the work is repeated; 3 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1_000)]
    pub max_retries: Option<u32>,
    /// The first pause, in milliseconds; 1,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 2_592_000_000_u64)]
    pub base_delay_ms: Option<u64>,
    /// The longest pause, in milliseconds; 60,000 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 2_592_000_000_u64)]
    pub max_delay_ms: Option<u64>,
    /// The agent that takes over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub fallback_agent_id: Option<String>,
    /// The number of failures after which that agent takes over; 3 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000)]
    pub failure_threshold: Option<u32>,
}

/// A decision that an agent made itself; never a person's answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionView {
    /// Its id.
    pub id: String,
    /// The intent.
    pub intent_id: IntentId,
    /// The name of the credential that recorded it.
    pub decision_maker_id: String,
    /// The kind of decision.
    pub decision_type: String,
    /// The outcome.
    pub outcome: String,
    /// The reasons.
    pub reasoning: String,
    /// When it was recorded, naive UTC.
    pub created_at: String,
}

/// The decisions of an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DecisionList {
    /// Oldest first.
    pub decisions: Vec<DecisionView>,
}

/// A file that is kept elsewhere.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttachmentView {
    /// Its id.
    pub id: String,
    /// The intent.
    pub intent_id: IntentId,
    /// The name of the file.
    pub filename: String,
    /// Its media type.
    pub mime_type: String,
    /// Its size in bytes.
    pub size: u64,
    /// Where it is kept.
    pub storage_url: String,
    /// Further members.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// The name of the credential that added it.
    pub uploaded_by: String,
    /// When it was added, naive UTC.
    pub created_at: String,
    /// As `created_at`, under the only name that the OpenIntent client reads.
    #[serde(rename = "createdAt")]
    pub created: String,
}

/// The attachments of an intent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct AttachmentList {
    /// Oldest first.
    pub attachments: Vec<AttachmentView>,
}

/// The cost of some work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CostView {
    /// Its id.
    pub id: String,
    /// The intent.
    pub intent_id: IntentId,
    /// The agent that caused it.
    pub agent_id: String,
    /// The agent that the body named, if the key may not act for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_agent_id: Option<String>,
    /// The kind of cost.
    pub cost_type: String,
    /// The amount.
    #[schema(value_type = f64)]
    pub amount: Number,
    /// The unit of the amount.
    pub unit: String,
    /// The provider that is paid.
    pub provider: Option<String>,
    /// Further members.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// When it was recorded, naive UTC.
    pub recorded_at: String,
    /// As `recorded_at`, under the only name that the OpenIntent client reads.
    #[serde(rename = "recordedAt")]
    pub recorded: String,
}

/// The costs of an intent, with sums of their amounts. Amounts of different units are added up as well.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CostList {
    /// Oldest first.
    pub costs: Vec<CostView>,
    /// The sums.
    pub summary: CostSummary,
}

/// Sums of amounts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CostSummary {
    /// Of all costs.
    #[schema(value_type = f64)]
    pub total: Number,
    /// By kind of cost.
    #[schema(value_type = Object)]
    pub by_type: Map<String, Value>,
    /// By agent.
    #[schema(value_type = Object)]
    pub by_agent: Map<String, Value>,
}

/// Work that failed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailureView {
    /// Its id.
    pub id: String,
    /// The intent.
    pub intent_id: IntentId,
    /// The agent whose work it was.
    pub agent_id: String,
    /// The agent that the body named, if the key may not act for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_agent_id: Option<String>,
    /// The number of the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt_number: Option<u32>,
    /// The code of the error.
    pub error_code: Option<String>,
    /// The type of the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error_type: Option<String>,
    /// The message of the error.
    pub error_message: Option<String>,
    /// Whether another attempt may succeed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recoverable: Option<bool>,
    /// When the agent is to try again: the time that it named, or else the one that the retry policy gives.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub retry_scheduled_at: Option<DateTime<Utc>>,
    /// As `retry_scheduled_at`, under the only name that the OpenIntent client reads.
    #[serde(rename = "retryScheduledAt", with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub retry_scheduled: Option<DateTime<Utc>>,
    /// Further members.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// When it was recorded, naive UTC.
    pub created_at: String,
    /// As `created_at`, under the only name that the OpenIntent client reads.
    #[serde(rename = "createdAt")]
    pub created: String,
}

/// The failures of an intent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct FailureList {
    /// Oldest first.
    pub failures: Vec<FailureView>,
}

/// How work that failed is repeated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RetryPolicyView {
    /// Its id.
    pub id: String,
    /// The intent.
    pub intent_id: IntentId,
    /// How the pause between two tries grows.
    pub strategy: RetryStrategy,
    /// How often the work is repeated.
    pub max_retries: u32,
    /// The first pause, in milliseconds.
    pub base_delay_ms: u64,
    /// The longest pause, in milliseconds.
    pub max_delay_ms: u64,
    /// The agent that takes over.
    pub fallback_agent_id: Option<String>,
    /// The number of failures after which that agent takes over.
    pub failure_threshold: u32,
    /// Whether the server tells the agents when to try again; false only for a policy that an older release kept.
    pub enforced: bool,
    /// When it was set, naive UTC.
    pub created_at: String,
    /// As `created_at`, under the only name that the OpenIntent client reads.
    #[serde(rename = "createdAt")]
    pub created: String,
    /// The same time as `created_at`, because a policy that is set again is a new one.
    #[serde(rename = "updatedAt")]
    pub updated: String,
}

/// A record with the event that holds it.
struct Kept {
    id: String,
    intent_id: IntentId,
    actor: String,
    created_at: String,
    record: Record,
}

fn kept(event: EventView) -> Option<Kept> {
    let EventView { id, intent_id, event_type, actor, payload, created_at, .. } = event;
    let record = Record::read(&event_type, &Value::Object(payload))?.ok()?;
    Some(Kept { id, intent_id, actor, created_at, record })
}

impl DecisionView {
    /// The decision that an event records; `None` for other events.
    pub fn of(event: EventView) -> Option<Self> {
        let Kept { id, intent_id, actor, created_at, record } = kept(event)?;
        let (decision_type, outcome, reasoning) = match record {
            Record::Decision(Decision { decision_type, outcome, reasoning }) => (decision_type, outcome, reasoning),
            Record::CoordinatorDecision(decision) => (decision.decision_type, decision.summary, decision.rationale),
            Record::Attachment(_)
            | Record::AttachmentRemoved(_)
            | Record::Cost(_)
            | Record::Failure(_)
            | Record::RetryPolicy(_) => return None,
        };
        Some(Self { id, intent_id, decision_maker_id: actor, decision_type, outcome, reasoning, created_at })
    }
}

impl AttachmentView {
    /// The attachment that an event adds; `None` for other events.
    pub fn of(event: EventView) -> Option<Self> {
        let Kept { id, intent_id, actor, created_at, record: Record::Attachment(attachment) } = kept(event)? else { return None };
        let Attachment { filename, mime_type, size, storage_url, metadata } = attachment;
        let created = created_at.clone();
        Some(Self { id, intent_id, filename, mime_type, size, storage_url, metadata, uploaded_by: actor, created_at, created })
    }
}

impl CostView {
    /// The cost that an event records; `None` for other events.
    pub fn of(event: EventView) -> Option<Self> {
        let Kept { id, intent_id, created_at, record: Record::Cost(cost), .. } = kept(event)? else { return None };
        let Cost { agent_id, claimed_agent_id, cost_type, amount, unit, provider, metadata } = cost;
        let recorded = created_at.clone();
        Some(Self {
            id,
            intent_id,
            agent_id,
            claimed_agent_id,
            cost_type,
            amount,
            unit,
            provider,
            metadata,
            recorded_at: created_at,
            recorded,
        })
    }
}

impl CostList {
    /// These costs, with their sums.
    pub fn of(costs: Vec<CostView>) -> Self {
        let sums = |by: fn(&CostView) -> &str| {
            let mut sums: std::collections::BTreeMap<&str, f64> = std::collections::BTreeMap::new();
            for cost in &costs {
                *sums.entry(by(cost)).or_default() += amount(cost);
            }
            sums.into_iter().map(|(name, sum)| (name.to_owned(), Value::Number(number(sum)))).collect()
        };
        let (by_type, by_agent) = (sums(|cost| &cost.cost_type), sums(|cost| &cost.agent_id));
        let total = number(costs.iter().map(amount).sum());
        Self { costs, summary: CostSummary { total, by_type, by_agent } }
    }
}

fn amount(cost: &CostView) -> f64 {
    cost.amount.as_f64().unwrap_or(0.0)
}

/// A sum, as a whole number if it is one: clients expect sums in the same form as amounts.
fn number(sum: f64) -> Number {
    #[expect(clippy::cast_possible_truncation, reason = "the sum has no fraction and is within the bounds of whole numbers")]
    let whole = (sum.fract() == 0.0 && sum.abs() < 9_007_199_254_740_992.0).then_some(sum as i64);
    whole.map(Number::from).or_else(|| Number::from_f64(sum)).unwrap_or_else(|| 0.into())
}

impl FailureView {
    /// The failure that an event records; `None` for other events.
    pub fn of(event: EventView) -> Option<Self> {
        let Kept { id, intent_id, created_at, record: Record::Failure(failure), .. } = kept(event)? else { return None };
        let Failure {
            agent_id,
            claimed_agent_id,
            attempt_number,
            error_code,
            error_type,
            error_message,
            recoverable,
            retry_scheduled_at,
            metadata,
        } = failure;
        Some(Self {
            id,
            intent_id,
            agent_id,
            claimed_agent_id,
            attempt_number,
            error_code,
            error_type,
            error_message,
            recoverable,
            retry_scheduled_at,
            retry_scheduled: retry_scheduled_at,
            metadata,
            created: created_at.clone(),
            created_at,
        })
    }
}

impl RetryPolicyView {
    /// The policy that an event sets; `None` for other events.
    pub fn of(event: EventView) -> Option<Self> {
        let Kept { id, intent_id, created_at, record: Record::RetryPolicy(policy), .. } = kept(event)? else { return None };
        let RetryPolicy { strategy, max_retries, base_delay_ms, max_delay_ms, fallback_agent_id, failure_threshold, enforced } =
            policy;
        Some(Self {
            id,
            intent_id,
            strategy,
            max_retries,
            base_delay_ms,
            max_delay_ms,
            fallback_agent_id,
            failure_threshold,
            enforced,
            created: created_at.clone(),
            updated: created_at.clone(),
            created_at,
        })
    }
}
