//! Plans: tasks that are worked on together, with checkpoints at which people decide (RFC-0012).

use std::fmt;

use domain::base::ids::{PlanId, TaskId};
use domain::container::plan::{FailureAction, TimeoutAction};
use domain::suspension::grounds::{Explanation, Reversibility};
use domain::wire::{CheckpointRequest, ConditionRequest, CreatePlanRequest, PlanView};
use serde_json::{Map, Value};

use crate::backoff::Repeat;
use crate::client::Client;
use crate::error::CallError;
use crate::intent::Intent;
use crate::key::fresh_key;
use crate::transport::Call;

const PLAN: &str = "/api/v1/plans/{plan_id}";

/// A plan, with the client for its server.
#[derive(Clone)]
pub struct Plan {
    client: Client,
    view: PlanView,
}

/// A checkpoint of a plan: when its task is over, the plan waits until a person has decided.
#[derive(Clone, Debug)]
pub struct Checkpoint(CheckpointRequest);

impl Checkpoint {
    /// A checkpoint behind this task. Its id is unique in the plan; people read its name.
    pub fn after(task: TaskId, id: impl Into<String>, name: impl Into<String>) -> Self {
        let request =
            CheckpointRequest { id: id.into(), name: name.into(), after_task: task.to_string(), ..CheckpointRequest::default() };
        Self(request)
    }

    /// Adds a person who is asked. If the checkpoint names none, the operators of the server are asked.
    #[must_use]
    pub fn approver(mut self, address: impl Into<String>) -> Self {
        self.0.approvers.get_or_insert_default().push(address.into());
        self
    }

    /// Sets how many hours people have, and what happens if they do not decide in time.
    #[must_use]
    pub fn within_hours(mut self, hours: u32, then: TimeoutAction) -> Self {
        (self.0.timeout_hours, self.0.on_timeout) = (Some(hours), Some(then));
        self
    }

    /// Proposes the action that follows: its arguments, at most 64 KiB of JSON. People decide about it, and the record of the question has
    /// it as they approved it.
    #[must_use]
    pub fn proposal(mut self, action: Map<String, Value>) -> Self {
        self.0.proposal = Some(action);
        self
    }

    /// Lets people edit members of the [proposal](Checkpoint::proposal): those that this JSON Schema describes.
    #[must_use]
    pub fn editable(mut self, schema: Map<String, Value>) -> Self {
        self.0.editable = Some(schema);
        self
    }

    /// Names the kind of decision, in 1 to 200 characters: people see how the newest ones of this agent with the same key were decided.
    #[must_use]
    pub fn question_key(mut self, key: impl Into<String>) -> Self {
        self.0.question_key = Some(key.into());
        self
    }

    /// Explains what follows: people read it before they decide.
    #[must_use]
    pub fn explanation(mut self, explanation: Explanation) -> Self {
        self.0.explanation = Some(explanation);
        self
    }

    /// Says whether what follows can be taken back.
    #[must_use]
    pub fn reversibility(mut self, reversibility: Reversibility) -> Self {
        self.0.reversibility = Some(reversibility);
        self
    }
}

impl Client {
    /// The plan with this id.
    pub async fn plan(&self, id: PlanId) -> Result<Plan, CallError> {
        let view = self.send(Call::read(PLAN, [id.to_string()])).await?;
        Ok(Plan { client: self.clone(), view })
    }
}

impl Intent {
    /// Creates a plan as a draft; nothing is sent before [`CreatePlan::send`].
    ///
    /// ```no_run
    /// # async fn example(intent: placet::Intent) -> Result<(), placet::CallError> {
    /// use placet::Checkpoint;
    ///
    /// let check = intent.create_task("Check the invoice").send().await?;
    /// let pay = intent.create_task("Pay it").depends_on([check.id()]).send().await?;
    /// let checkpoint = Checkpoint::after(check.id(), "pay", "Pay the invoice");
    /// let mut plan = intent.create_plan([check.id(), pay.id()]).checkpoint(checkpoint).send().await?;
    /// plan.activate().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn create_plan(&self, tasks: impl IntoIterator<Item = TaskId>) -> CreatePlan<'_> {
        let tasks = Some(tasks.into_iter().map(|task| task.to_string()).collect());
        let request = CreatePlanRequest { intent_id: self.id().to_string(), tasks, ..CreatePlanRequest::default() };
        CreatePlan { client: &self.client, request }
    }

    /// All plans of the intent, the oldest first.
    pub async fn plans(&self) -> Result<Vec<Plan>, CallError> {
        let views: Vec<PlanView> =
            self.client.send(Call::read("/api/v1/intents/{intent_id}/plans", [self.id().to_string()])).await?;
        Ok(views.into_iter().map(|view| Plan { client: self.client.clone(), view }).collect())
    }
}

/// A plan to be created, from [`Intent::create_plan`].
#[must_use = "nothing is created before send"]
pub struct CreatePlan<'a> {
    client: &'a Client,
    request: CreatePlanRequest,
}

impl CreatePlan<'_> {
    /// Adds a checkpoint.
    pub fn checkpoint(mut self, checkpoint: Checkpoint) -> Self {
        self.request.checkpoints.get_or_insert_default().push(checkpoint.0);
        self
    }

    /// Adds a condition: `task` is skipped unless `when` holds, for example `tasks['ID'].output.amount > 500`. The task whose output it
    /// reads must be one for which `task` waits.
    pub fn condition(mut self, id: impl Into<String>, task: TaskId, when: impl Into<String>) -> Self {
        let condition =
            ConditionRequest { id: id.into(), task_id: task.to_string(), when: when.into(), ..ConditionRequest::default() };
        self.request.conditions.get_or_insert_default().push(condition);
        self
    }

    /// Sets the reaction to a task that has failed for good.
    pub fn on_failure(mut self, action: FailureAction) -> Self {
        self.request.on_failure = Some(action);
        self
    }

    /// Sets one entry of the plan's data, which mean nothing to the server.
    pub fn metadata(mut self, key: impl Into<String>, value: impl Into<Value>) -> Self {
        self.request.metadata.get_or_insert_default().insert(key.into(), value.into());
        self
    }

    /// Creates the plan.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid`, with `intent_ended`, and with `guardrail_violation` if the coordinator of the intent does not allow
    /// the plan.
    pub async fn send(self) -> Result<Plan, CallError> {
        let call = Call::write("/api/v1/plans", [], &self.request, Repeat::Safe)?.header("idempotency-key", fresh_key());
        Ok(Plan { client: self.client.clone(), view: self.client.send(call).await? })
    }
}

impl Plan {
    /// The id of the plan.
    pub fn id(&self) -> PlanId {
        self.view.id
    }

    /// The plan as the server last sent it.
    pub fn view(&self) -> &PlanView {
        &self.view
    }

    /// Reads the plan again.
    pub async fn refresh(&mut self) -> Result<&PlanView, CallError> {
        self.view = self.client.send(Call::read(PLAN, [self.id().to_string()])).await?;
        Ok(&self.view)
    }

    /// Lets its tasks begin. If the coordinator of the intent wants a review, the plan is paused until a person has approved it.
    ///
    /// # Errors
    ///
    /// `Refused` with `invalid_transition` unless the plan is a draft, and with `invalid` if it has no tasks.
    pub async fn activate(&mut self) -> Result<(), CallError> {
        self.act("/api/v1/plans/{plan_id}/activate").await
    }

    /// Lets no task of it begin; tasks that run go on.
    pub async fn pause(&mut self) -> Result<(), CallError> {
        self.act("/api/v1/plans/{plan_id}/pause").await
    }

    /// Lets its tasks begin again.
    ///
    /// # Errors
    ///
    /// `Refused` with `plan_waits_for_person` if it waits for the decision of a person.
    pub async fn resume(&mut self) -> Result<(), CallError> {
        self.act("/api/v1/plans/{plan_id}/resume").await
    }

    /// Gives the plan up, with its tasks that are not finished.
    ///
    /// # Errors
    ///
    /// As [`resume`](Plan::resume).
    pub async fn cancel(&mut self) -> Result<(), CallError> {
        self.act("/api/v1/plans/{plan_id}/cancel").await
    }

    async fn act(&mut self, path: &'static str) -> Result<(), CallError> {
        let call = Call::write(path, [self.id().to_string()], &Map::new(), Repeat::Safe)?;
        self.view = self.client.send(call.header("idempotency-key", fresh_key())).await?;
        Ok(())
    }
}

impl fmt::Debug for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Plan").field("id", &self.view.id).field("state", &self.view.state).finish_non_exhaustive()
    }
}
