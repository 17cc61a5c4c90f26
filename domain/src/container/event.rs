//! Events about tasks, in the log of their intent.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::task::{Progress, Task, TaskBody, TaskStatus};
use crate::base::ids::{IntentId, LeaseId, PlanId, TaskId};
use crate::people::principal::Credential;
use crate::suspension::{Asker, Resolution};

/// One thing that happened to one task; also the payload of its event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum TaskEvent {
    /// `task.created`: it began, and is pending.
    Created(Box<Created>),
    /// `task.ready`: it waits for no other task.
    Ready(Named),
    /// `task.claimed`: an agent holds it.
    Claimed(Claimed),
    /// `task.started`: its agent has begun.
    Started(Named),
    /// `task.progress`: its agent says how far it is.
    Progressed(Progressed),
    /// `task.completed`.
    Completed(Box<Completed>),
    /// `task.failed`: an attempt failed.
    Failed(Failed),
    /// `task.retrying`: another attempt begins, and it is ready.
    Retrying(Retrying),
    /// `task.blocked`: it cannot go on.
    Blocked(Blocked),
    /// `task.unblocked`: it goes on.
    Unblocked(Unblocked),
    /// `task.delegated`: its agent has handed work on to another task.
    Delegated(Delegated),
    /// `task.cancelled`: it was given up.
    Cancelled(Ended),
    /// `task.skipped`: it is not needed.
    Skipped(Ended),
}

/// A task as it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// The task.
    pub task_id: TaskId,
    /// The plan that it is in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan_id: Option<PlanId>,
    /// Its name.
    pub name: String,
    /// Its description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A word of its creator.
    pub priority: String,
    /// The data with which it begins.
    pub input: Map<String, Value>,
    /// The capabilities that an agent must have.
    pub capabilities_required: Vec<String>,
    /// The tasks that have to be completed or skipped first.
    pub depends_on: Vec<TaskId>,
    /// Those of them that were not at that time.
    pub waits_for: Vec<TaskId>,
    /// The task of which it is a part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent_task_id: Option<TaskId>,
    /// For how long an agent holds it without a sign of life, in seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<u32>,
    /// How many attempts it has.
    pub max_attempts: u32,
    /// Data of its creator.
    pub metadata: Map<String, Value>,
    /// The credential that created it, by its name and owner; absent in older events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created_by: Option<Asker>,
    /// The credential that created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A task, and the credential that changed it; absent if the server itself did.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Named {
    /// The task.
    pub task_id: TaskId,
    /// The credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A task that an agent holds from now on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// The task.
    pub task_id: TaskId,
    /// The agent.
    pub agent_id: String,
    /// The lease by which it holds the task.
    pub lease_id: LeaseId,
    /// The credential that claimed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// How far a task is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progressed {
    /// The task.
    pub task_id: TaskId,
    /// How far it is.
    #[serde(flatten)]
    pub progress: Progress,
    /// The credential that says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A task that is done.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Completed {
    /// The task.
    pub task_id: TaskId,
    /// Its result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<Map<String, Value>>,
    /// The names of what it has made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifacts: Vec<String>,
    /// The credential that completed it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// An attempt that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The task.
    pub task_id: TaskId,
    /// The attempt.
    pub attempt: u32,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The credential that says so; absent if the server found it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// An attempt that begins.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retrying {
    /// The task.
    pub task_id: TaskId,
    /// The attempt from now on.
    pub attempt: u32,
    /// Why the attempt before ended, if the server ended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The credential that asks for the attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A task that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blocked {
    /// The task.
    pub task_id: TaskId,
    /// Why.
    pub blocked_reason: String,
    /// The intent that waits for a person, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_intent_id: Option<IntentId>,
    /// The credential that blocked it; absent if the server did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A task that goes on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unblocked {
    /// The task.
    pub task_id: TaskId,
    /// How the suspension of the intent ended, if the task was blocked by a suspension.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// The credential that lets it go on; absent if the server did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A task whose agent has handed work on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegated {
    /// The task.
    pub task_id: TaskId,
    /// The task that was created for the work.
    pub sub_task_id: TaskId,
    /// The credential that delegated it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A task that was given up, or is not needed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ended {
    /// The task.
    pub task_id: TaskId,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The credential that ended it; absent if the server did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

impl TaskEvent {
    /// The task.
    pub fn task_id(&self) -> TaskId {
        match self {
            Self::Created(created) => created.task_id,
            Self::Ready(named) | Self::Started(named) => named.task_id,
            Self::Claimed(claimed) => claimed.task_id,
            Self::Progressed(progressed) => progressed.task_id,
            Self::Completed(completed) => completed.task_id,
            Self::Failed(failed) => failed.task_id,
            Self::Retrying(retrying) => retrying.task_id,
            Self::Blocked(blocked) => blocked.task_id,
            Self::Unblocked(unblocked) => unblocked.task_id,
            Self::Delegated(delegated) => delegated.task_id,
            Self::Cancelled(ended) | Self::Skipped(ended) => ended.task_id,
        }
    }

    /// The name on the wire.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Created(_) => "task.created",
            Self::Ready(_) => "task.ready",
            Self::Claimed(_) => "task.claimed",
            Self::Started(_) => "task.started",
            Self::Progressed(_) => "task.progress",
            Self::Completed(_) => "task.completed",
            Self::Failed(_) => "task.failed",
            Self::Retrying(_) => "task.retrying",
            Self::Blocked(_) => "task.blocked",
            Self::Unblocked(_) => "task.unblocked",
            Self::Delegated(_) => "task.delegated",
            Self::Cancelled(_) => "task.cancelled",
            Self::Skipped(_) => "task.skipped",
        }
    }

    /// Reads the payload of an event of this type; `None` if no event about tasks has this type.
    ///
    /// # Errors
    ///
    /// A member that is missing or has another form.
    pub fn read(event_type: &str, payload: &Value) -> Option<Result<Self, serde_json::Error>> {
        fn of<T: DeserializeOwned>(payload: &Value, kind: impl FnOnce(T) -> TaskEvent) -> Result<TaskEvent, serde_json::Error> {
            T::deserialize(payload).map(kind)
        }
        Some(match event_type {
            "task.created" => of(payload, |created| Self::Created(Box::new(created))),
            "task.ready" => of(payload, Self::Ready),
            "task.claimed" => of(payload, Self::Claimed),
            "task.started" => of(payload, Self::Started),
            "task.progress" => of(payload, Self::Progressed),
            "task.completed" => of(payload, |completed| Self::Completed(Box::new(completed))),
            "task.failed" => of(payload, Self::Failed),
            "task.retrying" => of(payload, Self::Retrying),
            "task.blocked" => of(payload, Self::Blocked),
            "task.unblocked" => of(payload, Self::Unblocked),
            "task.delegated" => of(payload, Self::Delegated),
            "task.cancelled" => of(payload, Self::Cancelled),
            "task.skipped" => of(payload, Self::Skipped),
            _ => return None,
        })
    }

    /// Applies the event to the loaded tasks of its intent.
    pub fn apply(&self, tasks: &mut Vec<Task>, dated: DateTime<Utc>) {
        if let Self::Created(created) = self {
            let needed = tasks.iter_mut().filter(|task| created.depends_on.contains(&task.id));
            needed.for_each(|task| task.blocks.push(created.task_id));
            let parent = tasks.iter().find(|task| Some(task.id) == created.parent_task_id);
            let depth = parent.map_or(0, |parent| parent.depth + 1);
            return tasks.push(Task { depth, ..created.task(dated) });
        }
        let id = self.task_id();
        if let Self::Completed(_) | Self::Skipped(_) = self {
            for task in tasks.iter_mut() {
                task.waits_for.retain(|needed| *needed != id);
            }
        }
        let Some(task) = tasks.iter_mut().find(|task| task.id == id) else { return };
        task.version += 1;
        task.status = self.status().unwrap_or(task.status);
        task.blocked_reason = if let Self::Blocked(blocked) = self { Some(blocked.blocked_reason.clone()) } else { None };
        match self {
            Self::Claimed(claimed) => {
                task.assigned_agent = Some(claimed.agent_id.clone());
                task.lease_id = Some(claimed.lease_id);
            }
            Self::Started(_) => task.started_at = Some(dated),
            Self::Retrying(retrying) => {
                task.attempt = retrying.attempt;
                (task.assigned_agent, task.lease_id, task.started_at, task.completed_at) = (None, None, None, None);
            }
            Self::Completed(_) | Self::Failed(_) | Self::Cancelled(_) | Self::Skipped(_) => task.completed_at = Some(dated),
            Self::Created(_)
            | Self::Ready(_)
            | Self::Progressed(_)
            | Self::Blocked(_)
            | Self::Unblocked(_)
            | Self::Delegated(_) => {}
        }
    }

    /// The status that the event gives its task; `None` if the event leaves it.
    fn status(&self) -> Option<TaskStatus> {
        match self {
            Self::Created(_) => Some(TaskStatus::Pending),
            Self::Ready(_) | Self::Retrying(_) => Some(TaskStatus::Ready),
            Self::Claimed(_) => Some(TaskStatus::Claimed),
            Self::Started(_) | Self::Unblocked(_) => Some(TaskStatus::Running),
            Self::Completed(_) => Some(TaskStatus::Completed),
            Self::Failed(_) => Some(TaskStatus::Failed),
            Self::Blocked(_) => Some(TaskStatus::Blocked),
            Self::Cancelled(_) => Some(TaskStatus::Cancelled),
            Self::Skipped(_) => Some(TaskStatus::Skipped),
            Self::Progressed(_) | Self::Delegated(_) => None,
        }
    }

    /// Whether the event changes the words and data of its task.
    pub fn changes_body(&self) -> bool {
        matches!(self, Self::Completed(_) | Self::Failed(_))
    }

    /// Applies the event to the words and data of its task.
    pub fn apply_to_body(&self, body: &mut TaskBody) {
        if let Self::Completed(completed) = self {
            body.output.clone_from(&completed.output);
            body.artifacts.clone_from(&completed.artifacts);
            body.error = None;
        }
        if let Self::Failed(failed) = self {
            body.error.clone_from(&failed.error);
        }
    }
}

impl Created {
    /// The task that begins.
    fn task(&self, created_at: DateTime<Utc>) -> Task {
        Task {
            id: self.task_id,
            status: TaskStatus::Pending,
            version: 1,
            plan_id: self.plan_id,
            depends_on: self.depends_on.clone(),
            waits_for: self.waits_for.clone(),
            blocks: Vec::new(),
            parent_task_id: self.parent_task_id,
            depth: 0,
            created_by: self.created_by.clone(),
            assigned_agent: None,
            lease_id: None,
            blocked_reason: None,
            attempt: 1,
            max_attempts: self.max_attempts,
            timeout_seconds: self.timeout_seconds,
            created_at,
            started_at: None,
            completed_at: None,
        }
    }

    /// The words and data with which it begins.
    pub fn body(&self) -> TaskBody {
        TaskBody {
            name: self.name.clone(),
            description: self.description.clone(),
            priority: self.priority.clone(),
            input: self.input.clone(),
            output: None,
            artifacts: Vec::new(),
            capabilities_required: self.capabilities_required.clone(),
            metadata: self.metadata.clone(),
            error: None,
        }
    }
}
