//! Bodies about coordinators and their decisions (RFC-0013).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Number, Value};
use utoipa::ToSchema;

use super::EventView;
use crate::base::ids::{CoordinatorId, IntentId};
use crate::container::coordinator::{
    Coordinator, CoordinatorBody, CoordinatorStatus, CoordinatorType, Guardrails, SuspensionPolicy,
};
use crate::intent::record::{COORDINATOR_DECISION, CoordinatorDecision};

/// `POST /api/v1/coordinators`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreateCoordinatorRequest {
    /// The agent: the one that calls.
    #[schema(min_length = 1, max_length = 200, examples("planner"))]
    pub agent_id: String,
    /// The intent that it is to direct.
    pub intent_id: String,
    /// Must be absent or null: a coordinator directs one intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub portfolio_id: Option<String>,
    /// Must be absent or `intent`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The role, in words of the agent; `coordinator` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub role: Option<String>,
    /// The person or agent who supervises it; the operators of the server by default. With the policy `escalate` and an address of
    /// mail here, this person is asked as well.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub supervisor_id: Option<String>,
    /// The kind of coordinator; `llm` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coordinator_type: Option<CoordinatorType>,
    /// The effect of a suspension; `isolate` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension_policy: Option<SuspensionPolicy>,
    /// Limits of the work on the intent; those of RFC-0013 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub guardrails: Option<GuardrailsRequest>,
    /// The time between two heartbeats, 5 to 86,400 seconds; 60 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 5, maximum = 86_400)]
    pub heartbeat_interval_seconds: Option<u32>,
    /// When the lease ends, in the future; without it, the lease does not end by time.
    #[serde(default, with = "crate::base::time::naive_option", skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<DateTime<Utc>>,
    /// Data, which mean nothing to the server; at most 32 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// Limits of the work on an intent. Members that this server does not enforce are refused, unless they have the value that the
/// OpenIntent client sends by default.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct GuardrailsRequest {
    /// The most tasks of one plan, 1 to 1,000; 20 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000)]
    pub max_tasks_per_plan: Option<u32>,
    /// The most tasks that agents hold at the same time, 1 to 1,000; 10 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000)]
    pub max_concurrent_tasks: Option<u32>,
    /// How often a part of a task may be handed on, 0 to 1,000; 3 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(maximum = 1_000)]
    pub max_delegation_depth: Option<u32>,
    /// The most plans of the intent in all, 1 to 1,000; 5 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 1_000)]
    pub max_plan_versions: Option<u32>,
    /// The capabilities that tasks may require, at most 100; any by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100)]
    pub allowed_capabilities: Option<Vec<String>>,
    /// Whether a person must approve each plan before its tasks begin; not by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_plan_review: Option<bool>,
    /// Other members.
    #[serde(flatten)]
    #[schema(ignore)]
    pub others: Map<String, Value>,
}

/// The limits of the work on an intent that are in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GuardrailsView {
    /// The most tasks of one plan.
    pub max_tasks_per_plan: u32,
    /// The most tasks that agents hold at the same time.
    pub max_concurrent_tasks: u32,
    /// How often a part of a task may be handed on.
    pub max_delegation_depth: u32,
    /// The most plans of the intent in all.
    pub max_plan_versions: u32,
    /// The capabilities that tasks may require; null if they may require any.
    pub allowed_capabilities: Option<Vec<String>>,
    /// Whether a person must approve each plan before its tasks begin.
    pub requires_plan_review: bool,
}

/// The lease of a coordinator as the OpenIntent client reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CoordinatorView {
    /// Its id.
    pub id: CoordinatorId,
    /// The intent that it directs.
    pub intent_id: IntentId,
    /// Null.
    pub portfolio_id: Option<String>,
    /// The agent.
    pub agent_id: String,
    /// The role, in words of the agent.
    pub role: String,
    /// The person or agent who supervises it; null if the operators of the server do.
    pub supervisor_id: Option<String>,
    /// The kind of coordinator.
    pub coordinator_type: CoordinatorType,
    /// `intent`.
    pub scope: String,
    /// How far the lease is.
    pub status: CoordinatorStatus,
    /// The effect of a suspension.
    pub suspension_policy: SuspensionPolicy,
    /// The limits of the work.
    pub guardrails: GuardrailsView,
    /// The time between two heartbeats, in seconds.
    pub heartbeat_interval_seconds: u32,
    /// The last heartbeat; at first, the time at which the lease was granted.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-25T08:00:00.000000"))]
    pub last_heartbeat: DateTime<Utc>,
    /// When the lease was granted.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-25T08:00:00.000000"))]
    pub granted_at: DateTime<Utc>,
    /// When it ends; null if it does not end by time.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<DateTime<Utc>>,
    /// 1 at first; +1 for each event about it.
    pub version: u32,
    /// Data of the agent.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
}

impl CoordinatorView {
    /// A lease as it is shown.
    pub fn of(intent_id: IntentId, coordinator: Coordinator, body: CoordinatorBody) -> Self {
        let Guardrails {
            max_tasks_per_plan,
            max_concurrent_tasks,
            max_delegation_depth,
            max_plan_versions,
            allowed_capabilities,
            requires_plan_review,
        } = coordinator.guardrails;
        Self {
            id: coordinator.id,
            intent_id,
            portfolio_id: None,
            agent_id: coordinator.agent_id,
            role: coordinator.role,
            supervisor_id: coordinator.supervisor_id,
            coordinator_type: coordinator.coordinator_type,
            scope: "intent".to_owned(),
            status: coordinator.status,
            suspension_policy: coordinator.suspension_policy,
            guardrails: GuardrailsView {
                max_tasks_per_plan,
                max_concurrent_tasks,
                max_delegation_depth,
                max_plan_versions,
                allowed_capabilities,
                requires_plan_review,
            },
            heartbeat_interval_seconds: coordinator.heartbeat_interval_seconds,
            last_heartbeat: coordinator.last_heartbeat,
            granted_at: coordinator.granted_at,
            expires_at: coordinator.expires_at,
            version: coordinator.version,
            metadata: body.metadata,
        }
    }
}

/// The reply to a heartbeat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct HeartbeatView {
    /// `ok`.
    #[schema(examples("ok"))]
    pub status: String,
    /// The time at which the next heartbeat is due.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-25T08:00:00.000000"))]
    pub next_heartbeat_at: DateTime<Utc>,
}

impl HeartbeatView {
    /// The reply to a heartbeat of this coordinator.
    pub fn of(view: &CoordinatorView) -> Self {
        let interval = crate::base::time::seconds(view.heartbeat_interval_seconds);
        Self { status: "ok".to_owned(), next_heartbeat_at: view.last_heartbeat + interval }
    }
}

/// `POST /api/v1/decisions`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreateDecisionRecordRequest {
    /// The lease by which the agent directs the intent.
    pub coordinator_id: String,
    /// The intent.
    pub intent_id: String,
    /// The kind of decision: one of the ten words of RFC-0013.
    #[schema(examples("plan_created"))]
    pub decision_type: String,
    /// The decision.
    #[schema(min_length = 1, max_length = 2_000)]
    pub summary: String,
    /// The reasons; at most 16 KiB.
    #[schema(max_length = 16_384)]
    pub rationale: String,
    /// The alternatives that were considered: at most 20 objects, together at most 16 KiB of JSON.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Vec<Object>>, max_items = 20)]
    pub alternatives_considered: Option<Vec<Map<String, Value>>>,
    /// How sure the agent is, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<f64>, minimum = 0, maximum = 100)]
    pub confidence: Option<Number>,
}

/// A decision of a coordinator as it is listed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CoordinatorDecisionView {
    /// Its id.
    pub id: String,
    /// The lease of the coordinator.
    pub coordinator_id: CoordinatorId,
    /// The intent.
    pub intent_id: IntentId,
    /// The kind of decision.
    pub decision_type: String,
    /// The decision.
    pub summary: String,
    /// The reasons.
    pub rationale: String,
    /// The alternatives that were considered.
    #[schema(value_type = Vec<Object>)]
    pub alternatives_considered: Vec<Map<String, Value>>,
    /// How sure the agent was; null if it did not say so.
    #[schema(value_type = Option<f64>)]
    pub confidence: Option<Number>,
    /// When it was recorded, naive UTC.
    pub timestamp: String,
}

impl CoordinatorDecisionView {
    /// The decision in an event; `None` if the event is none.
    pub fn of(event: EventView) -> Option<Self> {
        if event.event_type != COORDINATOR_DECISION {
            return None;
        }
        let decision: CoordinatorDecision = serde_json::from_value(event.payload.into()).ok()?;
        let CoordinatorDecision { coordinator_id, decision_type, summary, rationale, alternatives_considered, confidence } =
            decision;
        Some(Self {
            id: event.id,
            coordinator_id,
            intent_id: event.intent_id,
            decision_type,
            summary,
            rationale,
            alternatives_considered,
            confidence,
            timestamp: event.created_at,
        })
    }
}
