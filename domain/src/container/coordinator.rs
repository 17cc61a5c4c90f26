//! A coordinator: the agent that directs the work of an intent, within guardrails and under a supervisor (RFC-0013).
//!
//! The serialized forms are in a database and in a log that is verified for ever, so a member never changes its name or its form.

use std::cmp::min;

use chrono::{DateTime, TimeDelta, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::CoordinatorId;
use crate::base::time::seconds;

/// The shortest time between two heartbeats, in seconds.
pub const INTERVAL_SECONDS_MIN: u32 = 5;
/// The longest time between two heartbeats, in seconds (one day).
pub const INTERVAL_SECONDS_MAX: u32 = 86_400;
/// The time between two heartbeats if the coordinator gives none, in seconds.
pub const INTERVAL_SECONDS_DEFAULT: u32 = 60;
/// How many intervals without a heartbeat make a coordinator unresponsive.
pub const INTERVALS_UNTIL_UNRESPONSIVE: i32 = 2;
/// How many further intervals without a heartbeat end the lease of an unresponsive coordinator.
pub const INTERVALS_UNTIL_FAILED_OVER: i32 = 3;
/// The highest limit that a guardrail may set.
pub const GUARDRAIL_MAX: u32 = 1_000;
/// The most capabilities that a guardrail may allow.
pub const CAPABILITIES_ALLOWED_MAX: usize = 100;
/// The most leases of coordinators that an intent has in all.
pub const COORDINATORS_MAX: usize = 1_000;

/// The effect of a suspension of the intent on the work that its coordinator directs (RFC-0026 §4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum SuspensionPolicy {
    /// Only the intent itself waits, with the intents that depend on it directly.
    #[default]
    Isolate,
    /// No work begins on an intent that depends on it, also by way of other intents, until it is completed.
    BlockDependents,
    /// The supervisor is asked together with the other people.
    Escalate,
}

/// The kind of coordinator, in its own words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoordinatorType {
    /// A program with a language model.
    #[default]
    Llm,
    /// A person.
    Human,
    /// Several coordinators.
    Composite,
    /// Another program.
    System,
}

/// How far the lease of a coordinator is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoordinatorStatus {
    /// It directs the intent.
    Active,
    /// It has missed two heartbeats.
    Unresponsive,
    /// It has missed three more, and another agent may take the lease.
    FailedOver,
    /// Its time has passed, or its intent has ended.
    Completed,
}

/// Limits of the work on an intent. They hold for every agent, and as long as the intent exists: a later lease can only tighten them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Guardrails {
    /// The most tasks of one plan.
    pub max_tasks_per_plan: u32,
    /// The most tasks that agents hold at the same time.
    pub max_concurrent_tasks: u32,
    /// How often a part of a task may be handed on.
    pub max_delegation_depth: u32,
    /// The most plans of the intent in all.
    pub max_plan_versions: u32,
    /// The capabilities that its tasks may require; absent if they may require any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_capabilities: Option<Vec<String>>,
    /// Whether a person must approve each plan before its tasks begin.
    pub requires_plan_review: bool,
}

/// The defaults of RFC-0013.
impl Default for Guardrails {
    fn default() -> Self {
        Self {
            max_tasks_per_plan: 20,
            max_concurrent_tasks: 10,
            max_delegation_depth: 3,
            max_plan_versions: 5,
            allowed_capabilities: None,
            requires_plan_review: false,
        }
    }
}

impl Guardrails {
    /// The stricter limit of both, one by one.
    #[must_use]
    pub fn tightened(&self, other: &Self) -> Self {
        let allowed_capabilities = match (&self.allowed_capabilities, &other.allowed_capabilities) {
            (Some(ours), Some(theirs)) => Some(ours.iter().filter(|word| theirs.contains(word)).cloned().collect()),
            (ours, theirs) => ours.clone().or_else(|| theirs.clone()),
        };
        Self {
            max_tasks_per_plan: min(self.max_tasks_per_plan, other.max_tasks_per_plan),
            max_concurrent_tasks: min(self.max_concurrent_tasks, other.max_concurrent_tasks),
            max_delegation_depth: min(self.max_delegation_depth, other.max_delegation_depth),
            max_plan_versions: min(self.max_plan_versions, other.max_plan_versions),
            allowed_capabilities,
            requires_plan_review: self.requires_plan_review || other.requires_plan_review,
        }
    }
}

/// The part of a coordinator's lease that decisions need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Coordinator {
    /// The id of the lease.
    pub id: CoordinatorId,
    /// The agent.
    pub agent_id: String,
    /// How far the lease is.
    pub status: CoordinatorStatus,
    /// 1 at first; +1 for each event about it.
    pub version: u32,
    /// The role, in the agent's words.
    pub role: String,
    /// The person or agent who supervises it; absent if the operators of the server do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub supervisor_id: Option<String>,
    /// The kind of coordinator.
    pub coordinator_type: CoordinatorType,
    /// The effect of a suspension.
    pub suspension_policy: SuspensionPolicy,
    /// The people who are asked as well if the policy is to escalate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub escalates_to: Vec<String>,
    /// The limits of the work.
    pub guardrails: Guardrails,
    /// The time between two heartbeats, in seconds.
    pub heartbeat_interval_seconds: u32,
    /// The last heartbeat; at first, the time at which the lease was granted.
    #[serde(with = "crate::base::time::z")]
    pub last_heartbeat: DateTime<Utc>,
    /// The time from which its silence counts: the last heartbeat, or the end of a suspension of the intent.
    #[serde(with = "crate::base::time::z")]
    pub silent_since: DateTime<Utc>,
    /// When the lease was granted.
    #[serde(with = "crate::base::time::z")]
    pub granted_at: DateTime<Utc>,
    /// When it ends; absent if it does not end by time.
    #[serde(with = "crate::base::time::z_option")]
    pub expires_at: Option<DateTime<Utc>>,
}

impl Coordinator {
    /// Whether the lease has ended.
    pub fn is_over(&self) -> bool {
        matches!(self.status, CoordinatorStatus::FailedOver | CoordinatorStatus::Completed)
    }

    fn intervals(&self, count: i32) -> TimeDelta {
        seconds(self.heartbeat_interval_seconds) * count
    }

    /// The time at which the next heartbeat is due.
    pub fn next_heartbeat_at(&self) -> DateTime<Utc> {
        self.last_heartbeat + self.intervals(1)
    }

    /// Whether a heartbeat would be the second one within half an interval. It is accepted, and not recorded.
    pub fn has_just_beaten(&self, now: DateTime<Utc>) -> bool {
        self.status == CoordinatorStatus::Active && (now - self.last_heartbeat) * 2 < self.intervals(1)
    }

    /// The time at which its silence has a consequence; `None` if the lease has ended.
    pub fn overdue_at(&self) -> Option<DateTime<Utc>> {
        match self.status {
            CoordinatorStatus::Active => Some(self.silent_since + self.intervals(INTERVALS_UNTIL_UNRESPONSIVE)),
            CoordinatorStatus::Unresponsive => Some(self.silent_since + self.intervals(INTERVALS_UNTIL_FAILED_OVER)),
            CoordinatorStatus::FailedOver | CoordinatorStatus::Completed => None,
        }
    }

    /// The time at which the server looks at the lease; `None` if it has ended.
    pub fn due_at(&self) -> Option<DateTime<Utc>> {
        self.overdue_at().map(|at| self.expires_at.map_or(at, |end| at.min(end)))
    }
}

/// The data of a lease that mean nothing to the server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CoordinatorBody {
    /// Data of the agent.
    pub metadata: Map<String, Value>,
}

/// The lease of a coordinator, as requested.
#[derive(Clone, Debug, PartialEq)]
pub struct NewCoordinator {
    /// The agent.
    pub agent_id: String,
    /// The role, in the agent's words.
    pub role: String,
    /// The person or agent who supervises it.
    pub supervisor_id: Option<String>,
    /// The kind of coordinator.
    pub coordinator_type: CoordinatorType,
    /// The effect of a suspension.
    pub suspension_policy: SuspensionPolicy,
    /// The people who are asked as well if the policy is to escalate.
    pub escalates_to: Vec<String>,
    /// The limits of the work.
    pub guardrails: Guardrails,
    /// The time between two heartbeats, in seconds.
    pub heartbeat_interval_seconds: u32,
    /// When it ends.
    pub expires_at: Option<DateTime<Utc>>,
    /// Data of the agent.
    pub body: CoordinatorBody,
}

/// A command about the lease of a coordinator.
#[derive(Clone, Debug, PartialEq)]
pub struct CoordinatorCommand {
    /// The lease; for a new one, the id that it will have.
    pub id: CoordinatorId,
    /// The step to be taken.
    pub step: CoordinatorStep,
}

/// A step to be taken with the lease of a coordinator.
#[derive(Clone, Debug, PartialEq)]
pub enum CoordinatorStep {
    /// Grant it.
    Grant(Box<NewCoordinator>),
    /// The coordinator is alive.
    Heartbeat,
    /// It may have been silent for too long, or its time may have passed.
    Look,
}
