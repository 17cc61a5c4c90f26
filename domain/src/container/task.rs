//! A task: one piece of the work of an intent (RFC-0012).
//!
//! The serialized forms are in a database and in a log that is verified for ever, so a member never changes its name or its form.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::{LeaseId, PlanId, TaskId};
use crate::suspension::Asker;
use crate::suspension::lease::Lease;

/// The beginning of the scope of the lease by which an agent holds a task; the id of the task follows.
pub const SCOPE_PREFIX: &str = "task:";
/// The most tasks of one intent, finished ones included.
pub const TASKS_MAX: usize = 1_000;
/// The most tasks of one intent that are not finished. One transaction changes all of them when the intent is abandoned.
pub const UNFINISHED_MAX: usize = 100;
/// The longest name of a task, of an agent, of a capability and of an artifact, in characters.
pub const NAME_MAX: usize = 200;
/// The longest description of a task, in bytes.
pub const DESCRIPTION_BYTES_MAX: usize = 8 * 1024;
/// The largest input, output, or data of a task, each in bytes of JSON.
pub const DATA_BYTES_MAX: usize = 32 * 1024;
/// The longest reason, error, priority and report, in characters.
pub const WORDS_MAX: usize = 1_000;
/// The most capabilities, and the most artifacts, of a task.
pub const LIST_MAX: usize = 50;
/// The most tasks for which one task waits.
pub const DEPENDENCIES_MAX: usize = 50;
/// How many attempts a task has by default.
pub const ATTEMPTS_DEFAULT: u32 = 3;
/// The most attempts of a task.
pub const ATTEMPTS_MAX: u32 = 100;
/// For how long an agent holds a task that has no `timeout_seconds`, in seconds (one hour).
pub const TIMEOUT_SECONDS_DEFAULT: u32 = 3_600;
/// The `blocked_reason` of a task whose intent waits for a person.
pub const INTENT_SUSPENDED: &str = "intent_suspended";
/// The `blocked_reason` of a task whose agent asks a person how to go on.
pub const ESCALATED: &str = "escalation";
/// The `blocked_reason` of a task that waits for the task to which its agent has delegated work.
pub const DELEGATED: &str = "delegated";
/// The `blocked_reason` of a task whose agent gave no reason.
pub const MANUAL: &str = "manual";
/// The reason for which tasks of an abandoned intent are cancelled.
pub const INTENT_ABANDONED: &str = "intent_abandoned";
/// The reason for which a task that no agent holds any more is ready again, or has failed.
pub const LEASE_EXPIRED: &str = "lease_expired";

/// The status of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// It waits for other tasks, or for its plan.
    Pending,
    /// An agent may claim it.
    Ready,
    /// An agent holds it, and has not begun.
    Claimed,
    /// An agent works on it.
    Running,
    /// It cannot go on; `blocked_reason` says why.
    Blocked,
    /// Done.
    Completed,
    /// An attempt failed.
    Failed,
    /// Given up.
    Cancelled,
    /// Not needed.
    Skipped,
}

impl TaskStatus {
    /// All statuses.
    pub const ALL: [Self; 9] = [
        Self::Pending,
        Self::Ready,
        Self::Claimed,
        Self::Running,
        Self::Blocked,
        Self::Completed,
        Self::Failed,
        Self::Cancelled,
        Self::Skipped,
    ];

    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Claimed => "claimed",
            Self::Running => "running",
            Self::Blocked => "blocked",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Skipped => "skipped",
        }
    }

    /// Whether a task with this status is still to be worked on. A failed task may get another attempt, but is finished until then.
    pub fn is_unfinished(self) -> bool {
        matches!(self, Self::Pending | Self::Ready | Self::Claimed | Self::Running | Self::Blocked)
    }

    /// Whether a task that waits for one with this status waits no longer.
    pub fn is_done(self) -> bool {
        matches!(self, Self::Completed | Self::Skipped)
    }
}

/// The part of a task that decisions need.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// Its status.
    pub status: TaskStatus,
    /// 1 at first; +1 for each event about it.
    pub version: u32,
    /// The plan that it is in.
    pub plan_id: Option<PlanId>,
    /// The tasks of the same intent that have to be completed or skipped before it is ready.
    pub depends_on: Vec<TaskId>,
    /// Those of them that are not.
    pub waits_for: Vec<TaskId>,
    /// The tasks that depend on it.
    pub blocks: Vec<TaskId>,
    /// The task whose agent has delegated this one.
    pub parent_task_id: Option<TaskId>,
    /// How many tasks are above it.
    #[serde(default)]
    pub depth: u32,
    /// The credential that created it; absent for tasks of before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Asker>,
    /// The agent that holds it, or held it at its end.
    pub assigned_agent: Option<String>,
    /// The lease by which the agent holds it.
    pub lease_id: Option<LeaseId>,
    /// Why it is blocked.
    pub blocked_reason: Option<String>,
    /// The present attempt, from 1.
    pub attempt: u32,
    /// How many attempts it has.
    pub max_attempts: u32,
    /// For how long an agent holds it without a sign of life, in seconds.
    pub timeout_seconds: Option<u32>,
    /// When it was created.
    #[serde(with = "crate::base::time::z")]
    pub created_at: DateTime<Utc>,
    /// When the present attempt began.
    #[serde(with = "crate::base::time::z_option")]
    pub started_at: Option<DateTime<Utc>>,
    /// When it was completed, failed, or was cancelled or skipped.
    #[serde(with = "crate::base::time::z_option")]
    pub completed_at: Option<DateTime<Utc>>,
}

impl Task {
    /// The scope of the lease by which an agent holds it.
    pub fn scope(&self) -> String {
        format!("{SCOPE_PREFIX}{}", self.id)
    }

    /// For how long an agent holds it without a sign of life, in seconds.
    pub fn held_seconds(&self) -> u32 {
        self.timeout_seconds.unwrap_or(TIMEOUT_SECONDS_DEFAULT)
    }

    /// The lease by which an agent holds it, unless that was released.
    pub fn lease<'a>(&self, leases: &'a [Lease]) -> Option<&'a Lease> {
        leases.iter().find(|lease| Some(lease.id) == self.lease_id)
    }

    /// Whether an agent holds it and is expected to work on it.
    pub fn is_held(&self) -> bool {
        matches!(self.status, TaskStatus::Claimed | TaskStatus::Running)
    }

    /// Whether nothing more comes of it: it is finished, and has no further attempt.
    pub fn is_over(&self) -> bool {
        let may_retry = self.status == TaskStatus::Failed && self.attempt < self.max_attempts;
        !self.status.is_unfinished() && !may_retry
    }

    /// Whether it waits for the tasks to which its agent has delegated work.
    pub fn waits_for_parts(&self) -> bool {
        self.status == TaskStatus::Blocked && self.blocked_reason.as_deref() == Some(DELEGATED)
    }

    /// Whether it waits for the answer to the question that its agent has asked about it.
    pub fn is_escalated(&self) -> bool {
        self.status == TaskStatus::Blocked && self.blocked_reason.as_deref() == Some(ESCALATED)
    }

    /// Whether its status follows from the suspension of its intent.
    pub fn mirrors_suspension(&self) -> bool {
        self.status == TaskStatus::Blocked && matches!(self.blocked_reason.as_deref(), Some(INTENT_SUSPENDED | ESCALATED))
    }
}

/// The words and data of a task.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TaskBody {
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// A word of its creator, which means nothing to the server.
    pub priority: String,
    /// The data with which it begins.
    pub input: Map<String, Value>,
    /// Its result.
    pub output: Option<Map<String, Value>>,
    /// The names of what it has made.
    pub artifacts: Vec<String>,
    /// The capabilities that an agent must have, in words of its creator, which mean nothing to the server.
    pub capabilities_required: Vec<String>,
    /// Data of its creator, which mean nothing to the server.
    pub metadata: Map<String, Value>,
    /// Why the last attempt failed.
    pub error: Option<String>,
}

/// A new task.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTask {
    /// Its words and data.
    pub body: TaskBody,
    /// The plan that it is to be in.
    pub plan_id: Option<PlanId>,
    /// The tasks that have to be completed or skipped first.
    pub depends_on: Vec<TaskId>,
    /// The task of which it is a part.
    pub parent_task_id: Option<TaskId>,
    /// For how long an agent holds it without a sign of life, in seconds.
    pub timeout_seconds: Option<u32>,
    /// How many attempts it has.
    pub max_attempts: u32,
}

/// A change of a task's status, as requested.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskChange {
    /// The status.
    pub status: TaskStatus,
    /// The agent that is to hold the task, if the request names one.
    pub assigned_agent: Option<String>,
    /// The result, for a task that is completed.
    pub output: Option<Map<String, Value>>,
    /// The names of what a task that is completed has made.
    pub artifacts: Vec<String>,
    /// Why it failed.
    pub error: Option<String>,
    /// Why it is blocked, skipped or cancelled.
    pub reason: Option<String>,
}

impl TaskChange {
    /// A change to this status, without data.
    pub fn to(status: TaskStatus) -> Self {
        Self { status, assigned_agent: None, output: None, artifacts: Vec::new(), error: None, reason: None }
    }
}

/// How far a task is, in the words of its agent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The percentage, 0 to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub percentage: Option<u32>,
    /// The words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// A command about one task.
#[derive(Clone, Debug, PartialEq)]
pub struct TaskCommand {
    /// The task; for a new one, the id that it will have.
    pub id: TaskId,
    /// The agent that acts.
    pub agent_id: String,
    /// The id that a new lease will have.
    pub lease_id: LeaseId,
    /// The step to be taken.
    pub step: TaskStep,
}

impl TaskCommand {
    /// The agent that the request names as the one that is to hold the task.
    pub fn names_agent(&self) -> Option<&String> {
        if let TaskStep::Change(change) = &self.step { change.assigned_agent.as_ref() } else { None }
    }

    /// The other tasks that a store loads for the command.
    pub fn names_tasks(&self) -> Vec<TaskId> {
        match &self.step {
            TaskStep::Create(new) | TaskStep::Delegate { task: new, .. } => {
                new.depends_on.iter().chain(&new.parent_task_id).copied().collect()
            }
            TaskStep::Change(_) | TaskStep::Report(_) | TaskStep::LookAtLease => Vec::new(),
        }
    }
}

/// A step to be taken with a task.
#[derive(Clone, Debug, PartialEq)]
pub enum TaskStep {
    /// Create it.
    Create(Box<NewTask>),
    /// Change its status.
    Change(Box<TaskChange>),
    /// Say how far it is, and hold it for longer.
    Report(Progress),
    /// Delegate work: create a task for it, and wait until that one is finished.
    Delegate {
        /// The id that the new task will have.
        id: TaskId,
        /// The new task.
        task: Box<NewTask>,
    },
    /// Look whether its agent still holds it; the server itself does this.
    LookAtLease,
}
