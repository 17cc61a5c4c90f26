//! Tasks, plans and coordinators for programs without a runtime; the documentation of each call is that of the asynchronous one.

use std::time::Duration;

use chrono::{DateTime, Utc};
use domain::base::ids::{CoordinatorId, PlanId, TaskId};
use domain::container::coordinator::{CoordinatorType, SuspensionPolicy};
use domain::container::plan::FailureAction;
use domain::wire::{CoordinatorDecisionView, CoordinatorView, GuardrailsRequest, PlanView, TaskView};
use serde_json::{Map, Value};

use super::{Client, Intent, Pending};
use crate::error::{CallError, RequestInputError};
use crate::plan::Checkpoint;

impl Client {
    /// The task with this id.
    pub fn task(&self, id: TaskId) -> Result<Task, CallError> {
        Ok(Task { client: self.clone(), task: self.driver.run(self.client.task(id))? })
    }

    /// The plan with this id.
    pub fn plan(&self, id: PlanId) -> Result<Plan, CallError> {
        Ok(Plan { client: self.clone(), plan: self.driver.run(self.client.plan(id))? })
    }

    /// The lease of a coordinator with this id.
    pub fn coordinator(&self, id: CoordinatorId) -> Result<Coordinator, CallError> {
        Ok(Coordinator { client: self.clone(), coordinator: self.driver.run(self.client.coordinator(id))? })
    }
}

impl Intent {
    /// Starts the creation of a task; see [`crate::Intent::create_task`].
    pub fn create_task(&self, name: impl Into<String>) -> CreateTask<'_> {
        CreateTask { client: &self.client, task: self.intent.create_task(name) }
    }

    /// The first 100 tasks of the intent, the oldest first.
    pub fn tasks(&self) -> Result<Vec<Task>, CallError> {
        let tasks = self.client.driver.run(self.intent.tasks())?;
        Ok(tasks.into_iter().map(|task| Task { client: self.client.clone(), task }).collect())
    }

    /// Starts the creation of a plan; see [`crate::Intent::create_plan`].
    pub fn create_plan(&self, tasks: impl IntoIterator<Item = TaskId>) -> CreatePlan<'_> {
        CreatePlan { client: &self.client, plan: self.intent.create_plan(tasks) }
    }

    /// All plans of the intent, the oldest first.
    pub fn plans(&self) -> Result<Vec<Plan>, CallError> {
        let plans = self.client.driver.run(self.intent.plans())?;
        Ok(plans.into_iter().map(|plan| Plan { client: self.client.clone(), plan }).collect())
    }

    /// Starts to direct the intent; see [`crate::Intent::coordinate`].
    pub fn coordinate(&self, agent: impl Into<String>) -> Coordinate<'_> {
        Coordinate { client: &self.client, coordinate: self.intent.coordinate(agent) }
    }

    /// The newest 100 leases of coordinators of the intent, the oldest first.
    pub fn coordinators(&self) -> Result<Vec<Coordinator>, CallError> {
        let found = self.client.driver.run(self.intent.coordinators())?;
        Ok(found.into_iter().map(|coordinator| Coordinator { client: self.client.clone(), coordinator }).collect())
    }

    /// The newest 100 decisions of its coordinators, the oldest first.
    pub fn coordinator_decisions(&self) -> Result<Vec<CoordinatorDecisionView>, CallError> {
        self.client.driver.run(self.intent.coordinator_decisions())
    }
}

/// Writes the calls that change a builder.
macro_rules! sets {
    ($builder:ident.$field:ident { $($name:ident($($argument:ident: $kind:ty),*): $doc:literal),* }) => {
        impl $builder<'_> {
            $(#[doc = $doc]
            pub fn $name(mut self, $($argument: $kind),*) -> Self {
                self.$field = self.$field.$name($($argument),*);
                self
            })*
        }
    };
}

/// A task to be created, from [`Intent::create_task`].
#[must_use = "nothing is created before send"]
pub struct CreateTask<'a> {
    client: &'a Client,
    task: crate::CreateTask<'a>,
}

sets! { CreateTask.task {
    description(description: impl Into<String>): "Sets the description, of at most 8 KiB.",
    input(key: impl Into<String>, value: impl Into<Value>): "Sets one entry of the data with which the task begins.",
    depends_on(tasks: impl IntoIterator<Item = TaskId>): "Lets the task wait until these are completed or skipped.",
    capability(capability: impl Into<String>): "Adds a capability that an agent must have.",
    max_attempts(attempts: u32): "Sets how many attempts the task has, 1 to 100; 3 by default.",
    timeout(timeout: Duration): "Sets for how long an agent holds the task; see [`crate::CreateTask::timeout`]."
} }

impl CreateTask<'_> {
    /// Creates the task.
    pub fn send(self) -> Result<Task, CallError> {
        Ok(Task { client: self.client.clone(), task: self.client.driver.run(self.task.send())? })
    }
}

/// A plan to be created, from [`Intent::create_plan`].
#[must_use = "nothing is created before send"]
pub struct CreatePlan<'a> {
    client: &'a Client,
    plan: crate::CreatePlan<'a>,
}

sets! { CreatePlan.plan {
    checkpoint(checkpoint: Checkpoint): "Adds a checkpoint.",
    condition(id: impl Into<String>, task: TaskId, when: impl Into<String>): "Adds a condition; see [`crate::CreatePlan::condition`].",
    on_failure(action: FailureAction): "Sets the reaction to a task that has failed for good.",
    metadata(key: impl Into<String>, value: impl Into<Value>): "Sets one entry of the plan's data."
} }

impl CreatePlan<'_> {
    /// Creates the plan.
    pub fn send(self) -> Result<Plan, CallError> {
        Ok(Plan { client: self.client.clone(), plan: self.client.driver.run(self.plan.send())? })
    }
}

/// A lease to be taken, from [`Intent::coordinate`].
#[must_use = "nothing is taken before send"]
pub struct Coordinate<'a> {
    client: &'a Client,
    coordinate: crate::Coordinate<'a>,
}

sets! { Coordinate.coordinate {
    supervisor(supervisor: impl Into<String>): "Sets the person or agent who supervises it.",
    kind(kind: CoordinatorType): "Sets the kind of coordinator.",
    suspension_policy(policy: SuspensionPolicy): "Sets the effect of a suspension of the intent.",
    guardrails(guardrails: GuardrailsRequest): "Sets limits of the work; see [`crate::Coordinate::guardrails`].",
    heartbeat_every(interval: Duration): "Sets the time between two heartbeats.",
    until(at: DateTime<Utc>): "Sets when the lease ends."
} }

impl Coordinate<'_> {
    /// Takes the lease, or gets the one that this agent has already.
    pub fn send(self) -> Result<Coordinator, CallError> {
        Ok(Coordinator { client: self.client.clone(), coordinator: self.client.driver.run(self.coordinate.send())? })
    }
}

/// A task, with the client for its server.
#[derive(Clone)]
pub struct Task {
    client: Client,
    task: crate::Task,
}

impl Task {
    /// The id of the task.
    pub fn id(&self) -> TaskId {
        self.task.id()
    }

    /// The task as the server last sent it.
    pub fn view(&self) -> &TaskView {
        self.task.view()
    }

    /// Reads the task again.
    pub fn refresh(&mut self) -> Result<&TaskView, CallError> {
        self.client.driver.run(self.task.refresh())
    }

    /// Holds the task for this agent; see [`crate::Task::claim`].
    pub fn claim(&mut self) -> Result<(), CallError> {
        self.client.driver.run(self.task.claim())
    }

    /// Begins the work; see [`crate::Task::start`].
    pub fn start(&mut self) -> Result<(), CallError> {
        self.client.driver.run(self.task.start())
    }

    /// Reports how far the work is; see [`crate::Task::progress`].
    pub fn progress(&mut self, percentage: Option<u32>, message: Option<&str>) -> Result<(), CallError> {
        self.client.driver.run(self.task.progress(percentage, message))
    }

    /// Completes the task with its result.
    pub fn complete<K: Into<String>, V: Into<Value>>(
        &mut self,
        output: impl IntoIterator<Item = (K, V)> + Send,
    ) -> Result<(), CallError> {
        let output: Map<String, Value> = output.into_iter().map(|(key, value)| (key.into(), value.into())).collect();
        self.client.driver.run(self.task.complete(output))
    }

    /// Ends the present attempt as failed.
    pub fn fail(&mut self, error: &str) -> Result<(), CallError> {
        self.client.driver.run(self.task.fail(error))
    }

    /// Makes a failed task ready for another attempt.
    pub fn retry(&mut self) -> Result<(), CallError> {
        self.client.driver.run(self.task.retry())
    }

    /// Gives the task up.
    pub fn cancel(&mut self, reason: &str) -> Result<(), CallError> {
        self.client.driver.run(self.task.cancel(reason))
    }

    /// Hands a part of the work on to a new task; see [`crate::Task::delegate`].
    pub fn delegate(&mut self, capability: &str, payload: Map<String, Value>) -> Result<Self, CallError> {
        let task = self.client.driver.run(self.task.delegate(capability, payload))?;
        Ok(Self { client: self.client.clone(), task })
    }

    /// Asks people how to go on; see [`crate::Task::escalate`].
    pub fn escalate(&mut self, reason: &str) -> Result<Pending<String>, RequestInputError> {
        let pending = self.client.driver.run(self.task.escalate(reason))?;
        Ok(Pending { driver: self.client.driver.clone(), pending })
    }
}

/// A plan, with the client for its server.
#[derive(Clone)]
pub struct Plan {
    client: Client,
    plan: crate::Plan,
}

impl Plan {
    /// The id of the plan.
    pub fn id(&self) -> PlanId {
        self.plan.id()
    }

    /// The plan as the server last sent it.
    pub fn view(&self) -> &PlanView {
        self.plan.view()
    }

    /// Reads the plan again.
    pub fn refresh(&mut self) -> Result<&PlanView, CallError> {
        self.client.driver.run(self.plan.refresh())
    }

    /// Lets its tasks begin; see [`crate::Plan::activate`].
    pub fn activate(&mut self) -> Result<(), CallError> {
        self.client.driver.run(self.plan.activate())
    }

    /// Lets no task of it begin; tasks that run go on.
    pub fn pause(&mut self) -> Result<(), CallError> {
        self.client.driver.run(self.plan.pause())
    }

    /// Lets its tasks begin again; see [`crate::Plan::resume`].
    pub fn resume(&mut self) -> Result<(), CallError> {
        self.client.driver.run(self.plan.resume())
    }

    /// Gives the plan up; see [`crate::Plan::cancel`].
    pub fn cancel(&mut self) -> Result<(), CallError> {
        self.client.driver.run(self.plan.cancel())
    }
}

/// The lease by which an agent directs an intent; see [`crate::Coordinator`].
#[derive(Clone)]
pub struct Coordinator {
    client: Client,
    coordinator: crate::Coordinator,
}

impl Coordinator {
    /// The id of the lease.
    pub fn id(&self) -> CoordinatorId {
        self.coordinator.id()
    }

    /// The lease as it was last read; see [`refresh`](Coordinator::refresh).
    pub fn view(&self) -> &CoordinatorView {
        self.coordinator.view()
    }

    /// Reads the lease again.
    pub fn refresh(&mut self) -> Result<&CoordinatorView, CallError> {
        self.client.driver.run(self.coordinator.refresh())
    }

    /// Says that the coordinator is alive; see [`crate::Coordinator::heartbeat`].
    pub fn heartbeat(&self) -> Result<DateTime<Utc>, CallError> {
        self.client.driver.run(self.coordinator.heartbeat())
    }

    /// Records a decision of the coordinator; see [`crate::Coordinator::record_decision`].
    pub fn record_decision(
        &self,
        kind: &str,
        summary: &str,
        rationale: &str,
        alternatives: Vec<Map<String, Value>>,
    ) -> Result<CoordinatorDecisionView, CallError> {
        self.client.driver.run(self.coordinator.record_decision(kind, summary, rationale, alternatives))
    }
}
