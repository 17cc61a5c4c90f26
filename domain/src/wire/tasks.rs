//! Bodies about tasks (RFC-0012).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::{IntentId, LeaseId, PlanId, TaskId};
use crate::container::task::{Task, TaskBody, TaskStatus};

/// `POST /api/v1/tasks`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreateTaskRequest {
    /// The intent of whose work it is a part.
    pub intent_id: String,
    /// Its name.
    #[schema(min_length = 1, max_length = 200, examples("Check the invoice"))]
    pub name: String,
    /// Its description; at most 8 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 8_192)]
    pub description: Option<String>,
    /// A word, which means nothing to the server; `normal` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_000)]
    pub priority: Option<String>,
    /// The data with which it begins; at most 32 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub input: Option<Map<String, Value>>,
    /// The capabilities that an agent must have, at most 50 words, which mean nothing to the server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub capabilities_required: Option<Vec<String>>,
    /// The tasks of the same intent that have to be completed or skipped first, at most 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub depends_on: Option<Vec<String>>,
    /// The task of the same intent of which it is a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<String>,
    /// For how long an agent holds it without a sign of life, 1 to 86,400 seconds; 3,600 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 86_400)]
    pub timeout_seconds: Option<u32>,
    /// How many attempts it has, 1 to 100; 3 by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 100)]
    pub max_attempts: Option<u32>,
    /// Data, which mean nothing to the server; at most 32 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
    /// Must be absent, null or `inherit`: a task has the permissions of its intent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<String>,
    /// The plan of the same intent that it is to be in. It is pending until the plan is active.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<String>,
    /// Must be absent, null or empty: this server has no memory for agents.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub memory_policy: Option<Value>,
    /// Must be absent, null or empty: this server has no tools.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub requires_tools: Option<Value>,
    /// Must be absent, null or empty: a task has `max_attempts`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub retry_policy: Option<Value>,
}

/// `PATCH /api/v1/tasks/{id}`. Unknown fields are ignored.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdateTaskRequest {
    /// The new status.
    pub status: TaskStatus,
    /// The agent that is to hold the task, with the status `claimed` or `running`; the caller by default. Only the agent that created the
    /// intent may name an agent other than itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub assigned_agent: Option<String>,
    /// The result, with the status `completed`; at most 32 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub output: Option<Map<String, Value>>,
    /// The names of what the task has made, with the status `completed`; at most 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub artifacts: Option<Vec<String>>,
    /// Why it failed, with the status `failed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_000)]
    pub error: Option<String>,
    /// Why it is blocked, with the status `blocked`; `manual` by default. `intent_suspended` and `delegated` are set by the server only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_000)]
    pub blocked_reason: Option<String>,
    /// Why it is skipped or cancelled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_000)]
    pub reason: Option<String>,
}

/// `POST /api/v1/tasks/{id}/claim`. The body may be empty; unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ClaimTaskRequest {
    /// The agent that is to hold the task; the caller by default. Only the agent that created the intent may name an agent other than
    /// itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub assigned_agent: Option<String>,
}

/// `POST /api/v1/tasks/{id}/complete`. The body may be empty; unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CompleteTaskRequest {
    /// The result; at most 32 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub output: Option<Map<String, Value>>,
    /// The names of what the task has made; at most 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub artifacts: Option<Vec<String>>,
}

/// `POST /api/v1/tasks/{id}/fail`. The body may be empty; unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct FailTaskRequest {
    /// Why the attempt failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_000)]
    pub error: Option<String>,
}

/// `POST /api/v1/tasks/{id}/progress`. The body may be empty; unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ReportProgressRequest {
    /// How far it is, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 100)]
    pub percentage: Option<u32>,
    /// How far it is, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 1_000)]
    pub message: Option<String>,
}

/// `POST /api/v1/tasks/{id}/delegate`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DelegateTaskRequest {
    /// The capability that the agent of the new task must have. It is the name of the new task as well, if the request gives none.
    #[schema(min_length = 1, max_length = 200)]
    pub capability: String,
    /// The data with which the new task begins; at most 32 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub payload: Option<Map<String, Value>>,
    /// The name of the new task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub name: Option<String>,
}

/// `POST /api/v1/tasks/{id}/escalate`: asks people how to go on with a task. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct EscalateTaskRequest {
    /// Why its agent cannot go on alone.
    #[schema(min_length = 1, max_length = 1_000)]
    pub reason: String,
}

/// A task as the OpenIntent client reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct TaskView {
    /// Its id.
    pub id: TaskId,
    /// The intent of whose work it is a part.
    pub intent_id: IntentId,
    /// The plan that it is in.
    pub plan_id: Option<PlanId>,
    /// Its name.
    pub name: String,
    /// Its description.
    pub description: Option<String>,
    /// Its status.
    pub status: TaskStatus,
    /// Its status, under the name of the RFC.
    pub state: TaskStatus,
    /// A word of its creator.
    pub priority: String,
    /// The data with which it begins.
    #[schema(value_type = Object)]
    pub input: Map<String, Value>,
    /// Its result.
    #[schema(value_type = Option<Object>)]
    pub output: Option<Map<String, Value>>,
    /// The names of what it has made.
    pub artifacts: Vec<String>,
    /// The agent that holds it, or held it at its end.
    pub assigned_agent: Option<String>,
    /// The lease by which the agent holds it.
    pub lease_id: Option<LeaseId>,
    /// The capabilities that an agent must have.
    pub capabilities_required: Vec<String>,
    /// The tasks that have to be completed or skipped first.
    pub depends_on: Vec<TaskId>,
    /// The tasks that depend on it.
    pub blocks: Vec<TaskId>,
    /// The task of which it is a part.
    pub parent_task_id: Option<TaskId>,
    /// Null: a task has `max_attempts`.
    pub retry_policy: Option<String>,
    /// For how long an agent holds it without a sign of life, in seconds; null for the default.
    pub timeout_seconds: Option<u32>,
    /// The present attempt, from 1.
    pub attempt: u32,
    /// How many attempts it has.
    pub max_attempts: u32,
    /// `inherit`: it has the permissions of its intent.
    pub permissions: String,
    /// Why it is blocked. `intent_suspended` means that its intent waits for a person; `escalation`, that it does so because of this task.
    pub blocked_reason: Option<String>,
    /// The intent that waits for a person, if that blocks the task.
    pub suspended_intent_id: Option<IntentId>,
    /// Why the last attempt failed.
    pub error: Option<String>,
    /// Data of its creator.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// 1 at first, and higher after each change.
    pub version: u32,
    /// When it was created.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub created_at: DateTime<Utc>,
    /// When the present attempt began.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub started_at: Option<DateTime<Utc>>,
    /// When it was completed, failed, or was cancelled or skipped.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub completed_at: Option<DateTime<Utc>>,
}

impl TaskView {
    /// A task as it is shown.
    pub fn of(intent_id: IntentId, task: Task, body: TaskBody) -> Self {
        let suspended_intent_id = task.mirrors_suspension().then_some(intent_id);
        Self {
            id: task.id,
            intent_id,
            plan_id: task.plan_id,
            name: body.name,
            description: body.description,
            status: task.status,
            state: task.status,
            priority: body.priority,
            input: body.input,
            output: body.output,
            artifacts: body.artifacts,
            assigned_agent: task.assigned_agent,
            lease_id: task.lease_id,
            capabilities_required: body.capabilities_required,
            depends_on: task.depends_on,
            blocks: task.blocks,
            parent_task_id: task.parent_task_id,
            retry_policy: None,
            timeout_seconds: task.timeout_seconds,
            attempt: task.attempt,
            max_attempts: task.max_attempts,
            permissions: "inherit".to_owned(),
            blocked_reason: task.blocked_reason,
            suspended_intent_id,
            error: body.error,
            metadata: body.metadata,
            version: task.version,
            created_at: task.created_at,
            started_at: task.started_at,
            completed_at: task.completed_at,
        }
    }
}
