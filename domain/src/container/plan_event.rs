//! Events about plans, in the log of their intent.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::condition::{Condition, ConditionBody};
use super::event::TaskEvent;
use super::plan::{Cause, Checkpoint, CheckpointBody, CheckpointStatus, FailureAction, Gate, Plan, PlanState, Prepared};
use super::task::{Task, TaskStatus};
use crate::base::ids::{PlanId, SuspensionId, TaskId};
use crate::people::principal::Credential;
use crate::suspension::{Asker, Resolution};

/// One thing that happened to one plan; also the payload of its event.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum PlanEvent {
    /// `plan.created`: it began, as a draft.
    Created(Box<Created>),
    /// `plan.updated`: the tasks or the checkpoints of the draft changed.
    Updated(Box<Updated>),
    /// `plan.activated`: its tasks are worked on.
    Activated(Moved),
    /// `plan.paused`: no task of it begins.
    Paused(Moved),
    /// `plan.resumed`: its tasks are worked on again.
    Resumed(Moved),
    /// `plan.worker_joined`: a key works on a task of it for the first time.
    WorkerJoined(WorkerJoined),
    /// `plan.completed`: all its tasks are completed or skipped.
    Completed(Moved),
    /// `plan.failed`.
    Failed(Moved),
    /// `plan.cancelled`: it was given up.
    Cancelled(Moved),
    /// `plan.checkpoint_reached`: the task of a checkpoint is finished.
    Reached(Reached),
    /// `plan.condition_decided`: the result that a condition reads is there.
    ConditionDecided(ConditionDecided),
    /// `plan.question_asked`: a person is asked whether it may go on.
    Asked(Asked),
    /// `plan.checkpoint_approved`: it may go on.
    Approved(Decided),
    /// `plan.checkpoint_rejected`: it may not.
    Rejected(Decided),
    /// `plan.review_required`: a person must approve it before its tasks begin.
    ReviewRequired(Box<ReviewRequired>),
    /// `plan.reviewed`: a person has approved it or stopped it.
    Reviewed(Reviewed),
    /// `plan.failure_decided`: a person has decided whether it goes on without a task that has failed for good.
    FailureDecided(FailureDecided),
}

/// A plan as it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Created {
    /// The plan.
    pub plan_id: PlanId,
    /// The credential that created it, by its name and owner.
    pub created_by: Asker,
    /// Its tasks.
    pub tasks: Vec<TaskId>,
    /// Its checkpoints.
    pub checkpoints: Vec<CheckpointBody>,
    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<ConditionBody>,
    /// The reaction to a task of it that has failed for good.
    pub on_failure: FailureAction,
    /// Data of its creator.
    pub metadata: Map<String, Value>,
    /// The credential that created it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// The questions at its checkpoints. Each is in the log once it is asked.
    #[serde(skip)]
    pub questions: Vec<(String, Prepared)>,
    /// The question about a task that has failed for good.
    #[serde(skip)]
    pub on_failure_question: Option<Prepared>,
    /// A secret from which the ids of its questions are made.
    #[serde(skip)]
    pub seed: [u8; 32],
}

/// Tasks or checkpoints of a draft that changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Updated {
    /// The plan.
    pub plan_id: PlanId,
    /// Its tasks from now on; absent if they did not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tasks: Option<Vec<TaskId>>,
    /// Its checkpoints from now on; absent if they did not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoints: Option<Vec<CheckpointBody>>,
    /// Its conditions from now on; absent if they did not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub conditions: Option<Vec<ConditionBody>>,
    /// The credential that changed them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
    /// The questions at its checkpoints, if these changed.
    #[serde(skip)]
    pub questions: Vec<(String, Prepared)>,
}

/// A plan with another state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moved {
    /// The plan.
    pub plan_id: PlanId,
    /// Why, if the server moved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The task that has failed for good, if that is the reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The credential that moved it; absent if the server did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A key that works in a plan. It does not answer the questions of the plan, nor does another key of its owner.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerJoined {
    /// The plan.
    pub plan_id: PlanId,
    /// The key, by its name and owner.
    pub worker: Asker,
    /// The credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A checkpoint whose task is finished.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reached {
    /// The plan.
    pub plan_id: PlanId,
    /// The checkpoint.
    pub checkpoint_id: String,
    /// Its name.
    pub name: String,
    /// Its task.
    pub after_task: TaskId,
}

/// A condition whose task is completed or skipped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConditionDecided {
    /// The plan.
    pub plan_id: PlanId,
    /// The condition.
    pub condition_id: String,
    /// The task that is skipped if it does not hold.
    pub task_id: TaskId,
    /// Whether it holds.
    pub holds: bool,
}

/// A question about a plan.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asked {
    /// The plan.
    pub plan_id: PlanId,
    /// The question.
    pub suspension_id: SuspensionId,
    /// The checkpoint that it is about, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub checkpoint_id: Option<String>,
    /// The task that has failed for good, if it is about one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

/// The decision at a checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The plan.
    pub plan_id: PlanId,
    /// The checkpoint.
    pub checkpoint_id: String,
    /// The question; absent if it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension_id: Option<SuspensionId>,
    /// How the question ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolution: Option<Resolution>,
    /// The person who answered or withdrew the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

/// The decision about a task that has failed for good.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureDecided {
    /// The plan.
    pub plan_id: PlanId,
    /// The task.
    pub task_id: TaskId,
    /// Whether the plan goes on.
    pub goes_on: bool,
    /// The question; absent if it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension_id: Option<SuspensionId>,
    /// The person who answered or withdrew the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

/// A plan that a person must approve before its tasks begin.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ReviewRequired {
    /// The plan.
    pub plan_id: PlanId,
    /// The question. It is in the log once it is asked.
    #[serde(skip)]
    pub question: Option<Prepared>,
}

/// The decision whether the tasks of a plan begin.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reviewed {
    /// The plan.
    pub plan_id: PlanId,
    /// Whether its tasks begin.
    pub goes_on: bool,
    /// The question; absent if it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension_id: Option<SuspensionId>,
    /// The person who answered or withdrew the question.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decided_by: Option<String>,
}

impl PlanEvent {
    /// The plan.
    pub fn plan_id(&self) -> PlanId {
        match self {
            Self::Created(created) => created.plan_id,
            Self::Updated(updated) => updated.plan_id,
            Self::Activated(moved)
            | Self::Paused(moved)
            | Self::Resumed(moved)
            | Self::Completed(moved)
            | Self::Failed(moved)
            | Self::Cancelled(moved) => moved.plan_id,
            Self::WorkerJoined(joined) => joined.plan_id,
            Self::Reached(reached) => reached.plan_id,
            Self::ConditionDecided(decided) => decided.plan_id,
            Self::Asked(asked) => asked.plan_id,
            Self::Approved(decided) | Self::Rejected(decided) => decided.plan_id,
            Self::FailureDecided(decided) => decided.plan_id,
            Self::ReviewRequired(required) => required.plan_id,
            Self::Reviewed(reviewed) => reviewed.plan_id,
        }
    }

    /// The name on the wire.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Created(_) => "plan.created",
            Self::Updated(_) => "plan.updated",
            Self::Activated(_) => "plan.activated",
            Self::Paused(_) => "plan.paused",
            Self::Resumed(_) => "plan.resumed",
            Self::Completed(_) => "plan.completed",
            Self::Failed(_) => "plan.failed",
            Self::Cancelled(_) => "plan.cancelled",
            Self::WorkerJoined(_) => "plan.worker_joined",
            Self::Reached(_) => "plan.checkpoint_reached",
            Self::ConditionDecided(_) => "plan.condition_decided",
            Self::Asked(_) => "plan.question_asked",
            Self::Approved(_) => "plan.checkpoint_approved",
            Self::Rejected(_) => "plan.checkpoint_rejected",
            Self::FailureDecided(_) => "plan.failure_decided",
            Self::ReviewRequired(_) => "plan.review_required",
            Self::Reviewed(_) => "plan.reviewed",
        }
    }

    /// Reads the payload of an event of this type; `None` if no event about plans has this type.
    ///
    /// # Errors
    ///
    /// A member that is missing or has another form.
    pub fn read(event_type: &str, payload: &Value) -> Option<Result<Self, serde_json::Error>> {
        fn of<T: DeserializeOwned>(payload: &Value, kind: impl FnOnce(T) -> PlanEvent) -> Result<PlanEvent, serde_json::Error> {
            T::deserialize(payload).map(kind)
        }
        Some(match event_type {
            "plan.created" => of(payload, |created| Self::Created(Box::new(created))),
            "plan.updated" => of(payload, |updated| Self::Updated(Box::new(updated))),
            "plan.activated" => of(payload, Self::Activated),
            "plan.paused" => of(payload, Self::Paused),
            "plan.resumed" => of(payload, Self::Resumed),
            "plan.completed" => of(payload, Self::Completed),
            "plan.failed" => of(payload, Self::Failed),
            "plan.cancelled" => of(payload, Self::Cancelled),
            "plan.worker_joined" => of(payload, Self::WorkerJoined),
            "plan.checkpoint_reached" => of(payload, Self::Reached),
            "plan.condition_decided" => of(payload, Self::ConditionDecided),
            "plan.question_asked" => of(payload, Self::Asked),
            "plan.checkpoint_approved" => of(payload, Self::Approved),
            "plan.checkpoint_rejected" => of(payload, Self::Rejected),
            "plan.failure_decided" => of(payload, Self::FailureDecided),
            "plan.review_required" => of(payload, |required| Self::ReviewRequired(Box::new(required))),
            "plan.reviewed" => of(payload, Self::Reviewed),
            _ => return None,
        })
    }

    /// Applies the event to the loaded plans and tasks of its intent.
    pub fn apply(&self, plans: &mut Vec<Plan>, tasks: &mut [Task], dated: DateTime<Utc>) {
        if let Self::Created(created) = self {
            put_in(created.plan_id, &created.tasks, tasks);
            return plans.push(created.plan(dated));
        }
        let Some(plan) = plans.iter_mut().find(|plan| plan.id == self.plan_id()) else { return };
        plan.version += 1;
        plan.updated_at = dated;
        match self {
            Self::Created(_) => {}
            Self::Updated(updated) => updated.apply(plan, tasks),
            Self::Activated(_) => plan.state = PlanState::Active,
            Self::Paused(moved) => {
                plan.state = PlanState::Paused;
                plan.is_held |= moved.reason.is_none();
                // A failure is decided by a person; a checkpoint has an event of its own.
                plan.gates.extend(moved.task_id.map(|id| Gate { cause: Cause::Failure(id), suspension_id: None }));
            }
            Self::Resumed(_) => (plan.state, plan.is_held) = (PlanState::Active, false),
            Self::Completed(_) => plan.state = PlanState::Completed,
            Self::Failed(_) => (plan.state, plan.gates) = (PlanState::Failed, Vec::new()),
            Self::Cancelled(_) => (plan.state, plan.gates) = (PlanState::Cancelled, Vec::new()),
            Self::WorkerJoined(joined) => plan.workers.push(joined.worker.clone()),
            Self::Reached(reached) => plan.reach(&reached.checkpoint_id),
            Self::ConditionDecided(decided) => {
                for condition in plan.conditions.iter_mut().filter(|condition| condition.body.id == decided.condition_id) {
                    condition.holds = Some(decided.holds);
                }
            }
            Self::Asked(asked) => {
                plan.asked += 1;
                if let Some(gate) = plan.gates.iter_mut().find(|gate| gate.suspension_id.is_none()) {
                    gate.suspension_id = Some(asked.suspension_id);
                }
            }
            Self::Approved(decided) => plan.decide(decided, CheckpointStatus::Approved, dated),
            Self::Rejected(decided) => plan.decide(decided, CheckpointStatus::Rejected, dated),
            Self::FailureDecided(decided) => plan.gates.retain(|gate| gate.cause != Cause::Failure(decided.task_id)),
            Self::ReviewRequired(required) => {
                plan.state = PlanState::Paused;
                plan.review.clone_from(&required.question);
                plan.gates.push(Gate { cause: Cause::Review, suspension_id: None });
            }
            Self::Reviewed(_) => plan.gates.retain(|gate| gate.cause != Cause::Review),
        }
    }
}

/// Applies an event about a task to the loaded tasks and plans of its intent.
pub fn follow_task(change: &TaskEvent, tasks: &mut Vec<Task>, plans: &mut [Plan], dated: DateTime<Utc>) {
    change.apply(tasks, dated);
    for plan in plans {
        plan.learn(change);
    }
}

/// Puts tasks into a plan. Those that were ready wait until the plan is active.
fn put_in(plan_id: PlanId, named: &[TaskId], tasks: &mut [Task]) {
    for task in tasks.iter_mut().filter(|task| named.contains(&task.id)) {
        task.plan_id = Some(plan_id);
        if task.status == TaskStatus::Ready {
            task.status = TaskStatus::Pending;
            task.version += 1;
        }
    }
}

fn pending(bodies: &[CheckpointBody]) -> Vec<Checkpoint> {
    let pending = |body: &CheckpointBody| Checkpoint {
        body: body.clone(),
        status: CheckpointStatus::Pending,
        decided_by: None,
        decided_at: None,
        suspension_id: None,
    };
    bodies.iter().map(pending).collect()
}

fn undecided(bodies: &[ConditionBody]) -> Vec<Condition> {
    bodies.iter().map(|body| Condition { body: body.clone(), holds: None }).collect()
}

impl Created {
    fn plan(&self, created_at: DateTime<Utc>) -> Plan {
        Plan {
            id: self.plan_id,
            state: PlanState::Draft,
            version: 1,
            created_by: self.created_by.clone(),
            tasks: self.tasks.clone(),
            checkpoints: pending(&self.checkpoints),
            conditions: undecided(&self.conditions),
            on_failure: self.on_failure,
            is_held: false,
            gates: Vec::new(),
            workers: Vec::new(),
            questions: self.questions.clone(),
            on_failure_question: self.on_failure_question.clone(),
            review: None,
            seed: self.seed,
            asked: 0,
            created_at,
            updated_at: created_at,
        }
    }
}

impl Updated {
    fn apply(&self, plan: &mut Plan, tasks: &mut [Task]) {
        if let Some(named) = &self.tasks {
            for task in tasks.iter_mut().filter(|task| task.plan_id == Some(plan.id) && !named.contains(&task.id)) {
                task.plan_id = None;
            }
            put_in(plan.id, named, tasks);
            plan.tasks.clone_from(named);
        }
        if let Some(checkpoints) = &self.checkpoints {
            plan.checkpoints = pending(checkpoints);
            plan.questions.clone_from(&self.questions);
        }
        if let Some(conditions) = &self.conditions {
            plan.conditions = undecided(conditions);
        }
    }
}

impl Plan {
    /// Learns from an event about a task that a new task is in the plan.
    fn learn(&mut self, change: &TaskEvent) {
        if let TaskEvent::Created(created) = change
            && created.plan_id == Some(self.id)
        {
            self.tasks.push(created.task_id);
        }
    }

    fn reach(&mut self, id: &str) {
        let Some(checkpoint) = self.checkpoints.iter_mut().find(|checkpoint| checkpoint.body.id == id) else { return };
        checkpoint.status = CheckpointStatus::Reached;
        if checkpoint.body.requires_approval {
            self.gates.push(Gate { cause: Cause::Checkpoint(id.to_owned()), suspension_id: None });
        }
    }

    fn decide(&mut self, decided: &Decided, status: CheckpointStatus, at: DateTime<Utc>) {
        self.gates.retain(|gate| gate.cause != Cause::Checkpoint(decided.checkpoint_id.clone()));
        let Some(checkpoint) = self.checkpoints.iter_mut().find(|checkpoint| checkpoint.body.id == decided.checkpoint_id) else {
            return;
        };
        (checkpoint.status, checkpoint.decided_at) = (status, Some(at));
        checkpoint.decided_by.clone_from(&decided.decided_by);
        checkpoint.suspension_id = decided.suspension_id;
    }
}
