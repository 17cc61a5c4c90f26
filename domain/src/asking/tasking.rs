//! Turns a request about a task into what is to be done with it, or names the fields that break rules.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::asking::policy::Asking;
use crate::base::field::{FieldError, UNSUPPORTED};
use crate::base::ids::{PlanId, SuspensionId, TaskId};
use crate::base::text::is_blank;
use crate::base::{json, words};
use crate::container::task::{
    ATTEMPTS_DEFAULT, ATTEMPTS_MAX, DATA_BYTES_MAX, DELEGATED, DEPENDENCIES_MAX, DESCRIPTION_BYTES_MAX, ESCALATED,
    INTENT_SUSPENDED, LIST_MAX, NAME_MAX, NewTask, Progress, TaskBody, TaskChange, TaskStatus, TaskStep, WORDS_MAX,
};
use crate::intent::command::Suspend;
use crate::suspension::lease::DURATION_SECONDS_MAX;
use crate::suspension::{FallbackPolicy, ResponseType};
use crate::wire::{
    ClaimTaskRequest, CompleteTaskRequest, CreateTaskRequest, DelegateTaskRequest, EscalateTaskRequest, FailTaskRequest,
    ReportProgressRequest, SuspendRequest, UpdateTaskRequest,
};

type Errors = Vec<FieldError>;

/// A new task.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn new_task(body: CreateTaskRequest) -> Result<TaskStep, Errors> {
    let mut check = Check::default();
    check.name("name", &body.name);
    if body.description.as_ref().is_some_and(|text| text.len() > DESCRIPTION_BYTES_MAX) {
        check.error("description", "length", format!("must be at most {DESCRIPTION_BYTES_MAX} bytes"));
    }
    check.words("priority", body.priority.as_ref());
    check.data("input", body.input.as_ref());
    check.data("metadata", body.metadata.as_ref());
    check.list("capabilities_required", body.capabilities_required.as_ref());
    if body.permissions.as_ref().is_some_and(|permissions| permissions != "inherit") {
        check.error(
            "permissions",
            UNSUPPORTED,
            "must be inherit, or be left out: a task has the permissions of its intent".into(),
        );
    }
    for (field, given, why) in [
        ("memory_policy", &body.memory_policy, "this server has no memory for agents"),
        ("requires_tools", &body.requires_tools, "this server has no tools"),
        ("retry_policy", &body.retry_policy, "set max_attempts"),
    ] {
        if given.as_ref().is_some_and(|value| !is_empty(value)) {
            check.error(field, UNSUPPORTED, format!("must be left out: {why}"));
        }
    }
    let timeout_seconds = body.timeout_seconds;
    if timeout_seconds.is_some_and(|seconds| !(1..=DURATION_SECONDS_MAX).contains(&seconds)) {
        check.error("timeout_seconds", "range", format!("must be 1 to {DURATION_SECONDS_MAX}"));
    }
    let max_attempts = body.max_attempts.unwrap_or(ATTEMPTS_DEFAULT);
    if !(1..=ATTEMPTS_MAX).contains(&max_attempts) {
        check.error("max_attempts", "range", format!("must be 1 to {ATTEMPTS_MAX}"));
    }
    let depends_on = check.tasks("depends_on", &body.depends_on.unwrap_or_default());
    let parent_task_id = check.tasks("parent_task_id", body.parent_task_id.as_slice()).pop();
    // An id that is no UUID names no plan, as the id of a plan of another intent does.
    let plan_id = body.plan_id.map(|text| text.parse().unwrap_or(PlanId(uuid::Uuid::nil())));
    check.passed()?;
    let body = TaskBody {
        name: body.name,
        description: body.description,
        priority: body.priority.unwrap_or_else(|| "normal".to_owned()),
        input: body.input.unwrap_or_default(),
        capabilities_required: body.capabilities_required.unwrap_or_default(),
        metadata: body.metadata.unwrap_or_default(),
        ..TaskBody::default()
    };
    Ok(TaskStep::Create(Box::new(NewTask { body, plan_id, depends_on, parent_task_id, timeout_seconds, max_attempts })))
}

/// A change of a task's status. A member that the status has no use for is refused.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn changed(body: UpdateTaskRequest) -> Result<TaskStep, Errors> {
    use TaskStatus::{Blocked, Cancelled, Claimed, Completed, Failed, Running, Skipped};
    let mut check = Check::default();
    let status = body.status;
    for (field, is_given, statuses) in [
        ("assigned_agent", body.assigned_agent.is_some(), &[Claimed, Running][..]),
        ("output", body.output.is_some(), &[Completed]),
        ("artifacts", body.artifacts.as_ref().is_some_and(|list| !list.is_empty()), &[Completed]),
        ("error", body.error.is_some(), &[Failed]),
        ("blocked_reason", body.blocked_reason.is_some(), &[Blocked]),
        ("reason", body.reason.is_some(), &[Skipped, Cancelled]),
    ] {
        if is_given && !statuses.contains(&status) {
            let statuses = statuses.iter().map(|status| status.as_str()).collect::<Vec<_>>().join(" or ");
            check.error(field, UNSUPPORTED, format!("is given only with the status {statuses}"));
        }
    }
    check.agent(body.assigned_agent.as_ref());
    check.data("output", body.output.as_ref());
    check.list("artifacts", body.artifacts.as_ref());
    check.words("error", body.error.as_ref());
    check.words("blocked_reason", body.blocked_reason.as_ref());
    check.words("reason", body.reason.as_ref());
    if body.blocked_reason.as_ref().is_some_and(|reason| [INTENT_SUSPENDED, ESCALATED, DELEGATED].contains(&reason.as_str())) {
        check.error("blocked_reason", "value", "only the server gives this reason".into());
    }
    check.passed()?;
    Ok(TaskStep::Change(Box::new(TaskChange {
        status,
        assigned_agent: body.assigned_agent,
        output: body.output,
        artifacts: body.artifacts.unwrap_or_default(),
        error: body.error,
        reason: body.blocked_reason.or(body.reason),
    })))
}

/// The claim of a task.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn claimed(body: ClaimTaskRequest) -> Result<TaskStep, Errors> {
    let mut check = Check::default();
    check.agent(body.assigned_agent.as_ref());
    check.passed()?;
    let change = TaskChange { assigned_agent: body.assigned_agent, ..TaskChange::to(TaskStatus::Claimed) };
    Ok(TaskStep::Change(Box::new(change)))
}

/// The completion of a task.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn completed(body: CompleteTaskRequest) -> Result<TaskStep, Errors> {
    let mut check = Check::default();
    check.data("output", body.output.as_ref());
    check.list("artifacts", body.artifacts.as_ref());
    check.passed()?;
    let CompleteTaskRequest { output, artifacts } = body;
    let artifacts = artifacts.unwrap_or_default();
    Ok(TaskStep::Change(Box::new(TaskChange { output, artifacts, ..TaskChange::to(TaskStatus::Completed) })))
}

/// An attempt that failed.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn failed(body: FailTaskRequest) -> Result<TaskStep, Errors> {
    let mut check = Check::default();
    check.words("error", body.error.as_ref());
    check.passed()?;
    Ok(TaskStep::Change(Box::new(TaskChange { error: body.error, ..TaskChange::to(TaskStatus::Failed) })))
}

/// How far a task is.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn progress(body: ReportProgressRequest) -> Result<TaskStep, Errors> {
    let mut check = Check::default();
    if body.percentage.is_some_and(|percentage| percentage > 100) {
        check.error("percentage", "range", "must be 0 to 100".into());
    }
    check.words("message", body.message.as_ref());
    check.passed()?;
    Ok(TaskStep::Report(Progress { percentage: body.percentage, message: body.message }))
}

/// A part of a task's work that is delegated to a new task with this id.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn delegated(body: DelegateTaskRequest, id: TaskId) -> Result<TaskStep, Errors> {
    let mut check = Check::default();
    check.name("capability", &body.capability);
    if let Some(name) = &body.name {
        check.name("name", name);
    }
    check.data("payload", body.payload.as_ref());
    check.passed()?;
    let body = TaskBody {
        name: body.name.unwrap_or_else(|| body.capability.clone()),
        priority: "normal".to_owned(),
        input: body.payload.unwrap_or_default(),
        capabilities_required: vec![body.capability],
        ..TaskBody::default()
    };
    let task = NewTask {
        body,
        plan_id: None,
        depends_on: Vec::new(),
        parent_task_id: None,
        timeout_seconds: None,
        max_attempts: ATTEMPTS_DEFAULT,
    };
    Ok(TaskStep::Delegate { id, task: Box::new(task) })
}

/// The question how to go on with this task. The store adds the name of the task.
///
/// # Errors
///
/// Every field that breaks a rule.
pub fn escalated(
    Asking { policy, by }: Asking<'_>,
    body: &EscalateTaskRequest,
    task_id: TaskId,
    id: SuspensionId,
) -> Result<Suspend, Errors> {
    let mut check = Check::default();
    let length = body.reason.chars().count();
    if length > WORDS_MAX || is_blank(&body.reason) {
        check.error("reason", "length", format!("must be 1 to {WORDS_MAX} characters, and one of them visible"));
    }
    check.passed()?;
    let request = SuspendRequest {
        question: words::escalation_question(&body.reason),
        context: Some(Map::from_iter([("task_id".to_owned(), serde_json::json!(task_id))])),
        response_type: Some(ResponseType::Text),
        fallback_policy: Some(FallbackPolicy::Fail),
        ..SuspendRequest::default()
    };
    let named = |error: FieldError| FieldError { field: error.field.replacen("question", "reason", 1), ..error };
    let asked = policy.accept(request, id, by, None);
    let asked = asked.map_err(|errors| errors.into_iter().map(named).collect::<Errors>())?;
    Ok(Suspend { task_id: Some(task_id), ..asked })
}

/// Whether a member that this server cannot honour asks for nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

/// The rules that the fields of a request break.
#[derive(Default)]
struct Check(Errors);

impl Check {
    fn error(&mut self, field: &str, rule: &str, message: String) {
        self.0.push(FieldError::new(field, rule, message));
    }

    fn passed(self) -> Result<(), Errors> {
        if self.0.is_empty() { Ok(()) } else { Err(self.0) }
    }

    fn name(&mut self, field: &str, name: &str) {
        if !(1..=NAME_MAX).contains(&name.chars().count()) {
            self.error(field, "length", format!("must be 1 to {NAME_MAX} characters"));
        }
    }

    fn agent(&mut self, name: Option<&String>) {
        if let Some(name) = name {
            self.name("assigned_agent", name);
        }
    }

    fn words(&mut self, field: &str, text: Option<&String>) {
        if text.is_some_and(|text| text.chars().count() > WORDS_MAX) {
            self.error(field, "length", format!("must be at most {WORDS_MAX} characters"));
        }
    }

    fn data(&mut self, field: &str, data: Option<&Map<String, Value>>) {
        if data.is_some_and(|data| json::size(data) > DATA_BYTES_MAX) {
            self.error(field, "length", format!("must be at most {DATA_BYTES_MAX} bytes of JSON"));
        }
    }

    fn list(&mut self, field: &str, list: Option<&Vec<String>>) {
        let Some(list) = list else { return };
        if list.len() > LIST_MAX {
            self.error(field, "count", format!("must have at most {LIST_MAX} entries"));
        }
        if list.iter().any(|text| text.chars().count() > NAME_MAX) {
            self.error(field, "length", format!("each entry must be at most {NAME_MAX} characters"));
        }
    }

    /// The tasks in a request. An id that is no UUID names no task.
    fn tasks(&mut self, field: &str, given: &[String]) -> Vec<TaskId> {
        if given.len() > DEPENDENCIES_MAX {
            self.error(field, "count", format!("must name at most {DEPENDENCIES_MAX} tasks"));
            return Vec::new();
        }
        let mut found: Vec<TaskId> = given.iter().filter_map(|text| text.parse().ok()).collect();
        if found.len() < given.len() {
            self.error(field, "unknown", "must name tasks of the same intent".into());
        }
        let mut seen = HashSet::new();
        found.retain(|id| seen.insert(*id));
        found
    }
}
