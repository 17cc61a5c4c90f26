//! Tasks: the parts into which agents divide the work of an intent (RFC-0012).

use std::fmt;
use std::time::Duration;

use domain::base::ids::TaskId;
use domain::container::task::TaskStatus;
use domain::suspension::lease::DURATION_SECONDS_MAX;
use domain::wire::{
    ClaimTaskRequest, CompleteTaskRequest, CreateTaskRequest, DelegateTaskRequest, EscalateTaskRequest, FailTaskRequest,
    ReportProgressRequest, SuspensionRecord, TaskView, UpdateTaskRequest,
};
use reqwest::Method;
use reqwest::header::HeaderValue;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::backoff::Repeat;
use crate::client::{CONFLICTS_MAX, Client};
use crate::error::{CallError, RequestInputError};
use crate::intent::Intent;
use crate::key::fresh_key;
use crate::pending::Pending;
use crate::problem::Problem;
use crate::question::read_text;
use crate::seconds::whole_seconds;
use crate::transport::Call;

const TASK: &str = "/api/v1/tasks/{task_id}";

/// A task, with the client for its server.
#[derive(Clone)]
pub struct Task {
    client: Client,
    view: TaskView,
}

impl Client {
    /// The task with this id.
    pub async fn task(&self, id: TaskId) -> Result<Task, CallError> {
        let view = self.send(Call::read(TASK, [id.to_string()])).await?;
        Ok(Task { client: self.clone(), view })
    }
}

impl Intent {
    /// Creates a task; nothing is sent before [`CreateTask::send`].
    ///
    /// ```no_run
    /// # async fn example(intent: placet::Intent) -> Result<(), placet::CallError> {
    /// let mut task = intent.create_task("Check the invoice").input("invoice", "INV-7").send().await?;
    /// task.claim().await?;
    /// task.start().await?;
    /// task.complete([("valid", true)]).await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_task(&self, name: impl Into<String>) -> CreateTask<'_> {
        let request = CreateTaskRequest { intent_id: self.id().to_string(), name: name.into(), ..CreateTaskRequest::default() };
        CreateTask { client: &self.client, request, timeout: None }
    }

    /// The first 100 tasks of the intent, the oldest first.
    pub async fn tasks(&self) -> Result<Vec<Task>, CallError> {
        let views: Vec<TaskView> =
            self.client.send(Call::read("/api/v1/intents/{intent_id}/tasks", [self.id().to_string()])).await?;
        Ok(views.into_iter().map(|view| Task { client: self.client.clone(), view }).collect())
    }
}

/// A task to be created, from [`Intent::create_task`].
#[must_use = "nothing is created before send"]
pub struct CreateTask<'a> {
    client: &'a Client,
    request: CreateTaskRequest,
    timeout: Option<Duration>,
}

impl CreateTask<'_> {
    /// Sets the description, of at most 8 KiB.
    pub fn description(mut self, description: impl Into<String>) -> Self {
        self.request.description = Some(description.into());
        self
    }

    /// Sets one entry of the data with which the task begins.
    pub fn input(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.request.input.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// Lets the task wait until these tasks of the same intent are completed or skipped.
    pub fn depends_on(mut self, tasks: impl IntoIterator<Item = TaskId>) -> Self {
        self.request.depends_on.get_or_insert_default().extend(tasks.into_iter().map(|task| task.to_string()));
        self
    }

    /// Adds a capability that an agent must have.
    pub fn capability(mut self, capability: impl Into<String>) -> Self {
        self.request.capabilities_required.get_or_insert_default().push(capability.into());
        self
    }

    /// Sets how many attempts the task has, 1 to 100; 3 by default.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.request.max_attempts = Some(attempts);
        self
    }

    /// Sets for how long an agent holds the task without a sign of life: 1 second to 1 day, in whole seconds; one hour by default.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Creates the task.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid`, with `intent_ended`, and with `guardrail_violation` if the coordinator of the intent does not allow
    /// the task.
    pub async fn send(self) -> Result<Task, CallError> {
        let Self { client, mut request, timeout } = self;
        if let Some(timeout) = timeout {
            let seconds = whole_seconds("timeout_seconds", timeout, DURATION_SECONDS_MAX)
                .map_err(|error| CallError::Refused(Box::new(Problem::invalid(vec![error]))))?;
            request.timeout_seconds = Some(seconds);
        }
        let call = Call::write("/api/v1/tasks", [], &request, Repeat::Safe)?.header("idempotency-key", fresh_key());
        Ok(Task { client: client.clone(), view: client.send(call).await? })
    }
}

impl Task {
    /// The id of the task.
    pub fn id(&self) -> TaskId {
        self.view.id
    }

    /// The task as the server last sent it.
    pub fn view(&self) -> &TaskView {
        &self.view
    }

    /// Reads the task again.
    pub async fn refresh(&mut self) -> Result<&TaskView, CallError> {
        self.view = self.client.send(Call::read(TASK, [self.id().to_string()])).await?;
        Ok(&self.view)
    }

    /// Holds the task for this agent.
    ///
    /// # Errors
    ///
    /// `Refused` with `intent_suspended` while the intent waits for a person, with `io_upstream_suspended` while an intent that it needs
    /// does, with `plan_not_active`, and with `lease_conflict` if another agent holds the task.
    pub async fn claim(&mut self) -> Result<(), CallError> {
        self.act("/api/v1/tasks/{task_id}/claim", &ClaimTaskRequest::default()).await
    }

    /// Begins the work, or goes on with a task that this agent has blocked; claims the task first if no agent holds it.
    ///
    /// # Errors
    ///
    /// As [`claim`](Task::claim), and with `invalid_transition`.
    pub async fn start(&mut self) -> Result<(), CallError> {
        self.set(&to(TaskStatus::Running)).await
    }

    /// Reports how far the work is, in percent and in words of at most 1,000 characters. The agent then holds the task for its whole
    /// time again.
    pub async fn progress(&mut self, percentage: Option<u32>, message: Option<&str>) -> Result<(), CallError> {
        let request = ReportProgressRequest { percentage, message: message.map(str::to_owned) };
        self.act("/api/v1/tasks/{task_id}/progress", &request).await
    }

    /// Completes the task with its result.
    pub async fn complete<K: Into<String>, V: Into<Value>>(
        &mut self,
        output: impl IntoIterator<Item = (K, V)> + Send,
    ) -> Result<(), CallError> {
        let output: Map<String, Value> = output.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        let request = CompleteTaskRequest { output: Some(output), ..CompleteTaskRequest::default() };
        self.act("/api/v1/tasks/{task_id}/complete", &request).await
    }

    /// Ends the present attempt as failed.
    pub async fn fail(&mut self, error: &str) -> Result<(), CallError> {
        self.act("/api/v1/tasks/{task_id}/fail", &FailTaskRequest { error: Some(error.to_owned()) }).await
    }

    /// Makes a failed task ready for another attempt.
    pub async fn retry(&mut self) -> Result<(), CallError> {
        self.set(&to(TaskStatus::Ready)).await
    }

    /// Gives the task up.
    pub async fn cancel(&mut self, reason: &str) -> Result<(), CallError> {
        let request = UpdateTaskRequest { reason: Some(reason.to_owned()), ..to(TaskStatus::Cancelled) };
        self.set(&request).await
    }

    /// Hands a part of the work on to a new task, and waits for it: this task is blocked until that one is over.
    pub async fn delegate(&mut self, capability: &str, payload: Map<String, Value>) -> Result<Self, CallError> {
        let request =
            DelegateTaskRequest { capability: capability.to_owned(), payload: Some(payload), ..DelegateTaskRequest::default() };
        let call = Call::write("/api/v1/tasks/{task_id}/delegate", [self.id().to_string()], &request, Repeat::Safe)?;
        let view = self.client.send(call.header("idempotency-key", fresh_key())).await?;
        self.refresh().await?;
        Ok(Self { client: self.client.clone(), view })
    }

    /// Asks people how to go on: suspends the intent, and blocks the task until the suspension has ended. The answer is a text.
    ///
    /// # Errors
    ///
    /// `Refused` with `intent_suspended`, with `not_active`, and with `invalid_transition` if the task does not run.
    pub async fn escalate(&mut self, reason: &str) -> Result<Pending<String>, RequestInputError> {
        let request = EscalateTaskRequest { reason: reason.to_owned() };
        let call = Call::write("/api/v1/tasks/{task_id}/escalate", [self.id().to_string()], &request, Repeat::Safe)?;
        let record: SuspensionRecord =
            self.client.send(call.header("idempotency-key", fresh_key())).await.map_err(CallError::or_unavailable)?;
        self.client.hooks().requested(&record, false);
        self.refresh().await?;
        Ok(Pending::new(self.client.clone(), record, read_text))
    }

    async fn act(&mut self, path: &'static str, request: &(impl Serialize + Sync)) -> Result<(), CallError> {
        let call = Call::write(path, [self.id().to_string()], request, Repeat::Safe)?;
        self.view = self.client.send(call.header("idempotency-key", fresh_key())).await?;
        Ok(())
    }

    /// Changes the task under its present version; if the version has changed meanwhile, tries again.
    async fn set(&mut self, request: &UpdateTaskRequest) -> Result<(), CallError> {
        let mut conflicts = 0;
        loop {
            let version = self.refresh().await?.version;
            let call = Call::write(TASK, [self.id().to_string()], request, Repeat::Safe)?.method(Method::PATCH);
            let call = call.header("idempotency-key", fresh_key()).header("if-match", HeaderValue::from(version));
            match self.client.send(call).await {
                Err(CallError::Refused(problem)) if problem.is("version_conflict") && conflicts < CONFLICTS_MAX => conflicts += 1,
                outcome => {
                    self.view = outcome?;
                    return Ok(());
                }
            }
        }
    }
}

/// A change of the status alone.
fn to(status: TaskStatus) -> UpdateTaskRequest {
    UpdateTaskRequest {
        status,
        assigned_agent: None,
        output: None,
        artifacts: None,
        error: None,
        blocked_reason: None,
        reason: None,
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task").field("id", &self.view.id).field("status", &self.view.status).finish_non_exhaustive()
    }
}
