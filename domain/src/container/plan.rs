//! A plan: tasks of an intent that are worked on together, with checkpoints at which a person decides whether the work goes on
//! (RFC-0012).
//!
//! The serialized forms are in a database and in a log that is verified for ever, so a member never changes its name or its form.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use utoipa::ToSchema;
use uuid::Builder;

use super::condition::{Condition, ConditionBody};
use super::task::{Task, TaskStatus};
use crate::base::ids::{PlanId, SuspensionId, TaskId};
use crate::suspension::assignees::Assignees;
use crate::suspension::quorum::Quorum;
use crate::suspension::seeming::SeemingSecret;
use crate::suspension::{Asker, FallbackPolicy, Question, RequiredAssurance, SuspensionChoice};

/// The most plans of one intent that are not finished.
pub const PLANS_MAX: usize = 10;
/// The most plans of one intent, finished ones included.
pub const PLANS_IN_ALL_MAX: usize = 100;
/// The most tasks of one plan.
pub const PLAN_TASKS_MAX: usize = 100;
/// The most checkpoints of one plan.
pub const CHECKPOINTS_MAX: usize = 20;
/// The most bytes of canonical JSON of all actions that the checkpoints of one plan propose: the plan is written anew with each step.
pub const PLAN_PROPOSALS_BYTES_MAX: usize = 128 * 1024;
/// The longest id and name of a checkpoint, in characters.
pub const CHECKPOINT_WORD_MAX: usize = 200;
/// The longest time that people have at a checkpoint, in hours (one year).
pub const TIMEOUT_HOURS_MAX: u32 = 8_760;

/// The same with `escalate`, in hours (30 days): the longest time between two attempts of a question.
pub const ESCALATE_HOURS_MAX: u32 = 720;

/// The member of a plan from which the question about a task that has failed for good is made.
pub const ON_FAILURE: &str = "on_failure";
/// The member of a plan from which the question whether its tasks may begin is made.
pub const STATE: &str = "state";

/// The path of the checkpoint in this place of a plan.
pub fn checkpoint_path(place: usize) -> String {
    format!("checkpoints[{place}]")
}

/// The state of a plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PlanState {
    /// It is being written, and its tasks wait.
    Draft,
    /// Its tasks are worked on.
    Active,
    /// No task of it begins.
    Paused,
    /// All its tasks are completed or skipped.
    Completed,
    /// A person has stopped it, a task of it has failed for good, or its intent was abandoned.
    Failed,
    /// Given up.
    Cancelled,
}

impl PlanState {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Draft => "draft",
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// Whether no state follows it.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

/// The reaction to a task of the plan that has failed for good.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum FailureAction {
    /// The plan pauses, and a person decides whether it goes on.
    #[default]
    PauseAndEscalate,
    /// Nothing.
    Notify,
    /// The plan fails.
    Fail,
    /// The task gets its next attempt at once; after the last one the plan fails.
    Retry,
}

/// The reaction to a checkpoint at which no person decides in time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum TimeoutAction {
    /// The server's operators are asked as well, for the same time again; then as `fail`.
    #[default]
    Escalate,
    /// The plan goes on.
    AutoApprove,
    /// The intent is abandoned, and the plan fails.
    Fail,
}

/// How far a checkpoint is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum CheckpointStatus {
    /// Its task is not finished.
    #[default]
    Pending,
    /// Its task is finished. A person has not decided yet, or need not decide.
    Reached,
    /// The plan may go on.
    Approved,
    /// A person has stopped the plan.
    Rejected,
}

impl CheckpointStatus {
    /// The name on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Reached => "reached",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
        }
    }
}

/// A checkpoint as its agent has described it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckpointBody {
    /// Its id, unique in its plan.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The task behind which it stands.
    pub after_task: TaskId,
    /// Whether a person must decide.
    pub requires_approval: bool,
    /// The people who are asked; the operators of the server if it names none.
    pub approvers: Vec<String>,
    /// The time that they have, in hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_hours: Option<u32>,
    /// The reaction if they do not decide in time.
    pub on_timeout: TimeoutAction,
    /// The people, groups and roles who may decide; absent if that is every operator and admin.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Assignees>,
    /// How many of them must agree; absent if one decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<Quorum>,
    /// How sure the server must be of the person who decides; absent if every decision counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_assurance: Option<RequiredAssurance>,
}

/// The name of a checkpoint: its id is unique in its plan only.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckpointId {
    /// The plan.
    pub plan_id: PlanId,
    /// The id that the plan gives it.
    pub id: String,
}

/// A checkpoint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// As its agent has described it.
    #[serde(flatten)]
    pub body: CheckpointBody,
    /// How far it is.
    pub status: CheckpointStatus,
    /// The person who approved it, or rejected it.
    pub decided_by: Option<String>,
    /// When that was.
    #[serde(with = "crate::base::time::z_option")]
    pub decided_at: Option<DateTime<Utc>>,
    /// The question that was decided; absent before, and if an earlier version recorded the decision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension_id: Option<SuspensionId>,
}

/// A question to people about a plan, complete but for its id and its time. The rules of the server about questions were applied when
/// the plan was written.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    /// The question, with its recipients.
    pub question: Question,
    /// Yes and no.
    pub choices: Vec<SuspensionChoice>,
    /// The window of all attempts, in seconds.
    pub window_seconds: Option<u32>,
    /// The policy that applies when it expires.
    pub fallback_policy: FallbackPolicy,
    /// The value that then replaces an answer.
    pub fallback_value: Option<Value>,
    /// Whether a fallback other than `fail` applies only if a person has been reached.
    pub requires_delivery: bool,
    /// How many people must agree; absent if one answer decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<Quorum>,
    /// Differences between the request as written and as understood, for the reply to the agent that plans. They are not kept.
    #[serde(skip)]
    pub warnings: Vec<String>,
}

/// The reason for which a plan waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The decision at the checkpoint with this id.
    Checkpoint(String),
    /// The decision about a task that has failed for good.
    Failure(TaskId),
    /// The review of the plan before its tasks begin.
    Review,
}

/// A decision of a person for which a plan waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The reason for the decision.
    pub cause: Cause,
    /// The question, once it is asked.
    pub suspension_id: Option<SuspensionId>,
}

/// The part of a plan that decisions need.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Plan {
    /// Its id.
    pub id: PlanId,
    /// Its state.
    pub state: PlanState,
    /// 1 at first; +1 for each event about it.
    pub version: u32,
    /// The credential that created it: the asker of its questions.
    pub created_by: Asker,
    /// Its tasks.
    pub tasks: Vec<TaskId>,
    /// Its checkpoints.
    pub checkpoints: Vec<Checkpoint>,
    /// Its conditions.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<Condition>,
    /// The reaction to a task of it that has failed for good.
    pub on_failure: FailureAction,
    /// Whether an agent has paused it.
    pub is_held: bool,
    /// The decisions for which it waits, in the order in which people are asked.
    pub gates: Vec<Gate>,
    /// The credentials that have worked on a task of it. None of them, and no other key of their owners, answers its questions.
    pub workers: Vec<Asker>,
    /// The questions at its checkpoints, by the ids of these.
    pub questions: Vec<(String, Prepared)>,
    /// The question about a task that has failed for good.
    pub on_failure_question: Option<Prepared>,
    /// The question whether its tasks may begin, if a person had to review it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review: Option<Prepared>,
    /// A secret from which the ids of its questions are made.
    pub seed: [u8; 32],
    /// How many questions it has asked.
    pub asked: u32,
    /// When it was created.
    #[serde(with = "crate::base::time::z")]
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    #[serde(with = "crate::base::time::z")]
    pub updated_at: DateTime<Utc>,
}

impl Plan {
    /// The id that its next question will have. A suspension's id is a capability, so no one who knows an earlier id can guess the next.
    pub fn next_question(&self) -> SuspensionId {
        let mut hash = Sha256::new();
        hash.update(self.seed);
        hash.update(self.asked.to_be_bytes());
        let hash: [u8; 32] = hash.finalize().into();
        let mut bytes = [0; 16];
        bytes.copy_from_slice(&hash[..16]);
        SuspensionId(Builder::from_custom_bytes(bytes).into_uuid())
    }

    /// The prepared question about this cause.
    pub fn prepared(&self, cause: &Cause) -> Option<&Prepared> {
        match cause {
            Cause::Checkpoint(id) => self.questions.iter().find(|(of, _)| of == id).map(|(_, question)| question),
            Cause::Failure(_) => self.on_failure_question.as_ref(),
            Cause::Review => self.review.as_ref(),
        }
    }

    /// The open question at the checkpoint with this id.
    pub fn question_at(&self, checkpoint: &str) -> Option<SuspensionId> {
        let is_there = |gate: &&Gate| matches!(&gate.cause, Cause::Checkpoint(id) if id == checkpoint);
        self.gates.iter().find(is_there)?.suspension_id
    }

    /// The question at this checkpoint, open or decided.
    pub fn question_of(&self, checkpoint: &Checkpoint) -> Option<SuspensionId> {
        self.question_at(&checkpoint.body.id).or(checkpoint.suspension_id)
    }

    /// The questions at checkpoints at which people are still to be asked.
    pub fn questions_to_ask(&mut self) -> impl Iterator<Item = &mut Question> {
        let Self { checkpoints, gates, questions, .. } = self;
        let is_asked = |id: &str| {
            let at_it = |gate: &&Gate| matches!(&gate.cause, Cause::Checkpoint(checkpoint) if checkpoint == id);
            let is_decided = checkpoints.iter().any(|checkpoint| checkpoint.body.id == id && checkpoint.decided_at.is_some());
            is_decided || gates.iter().find(at_it).is_some_and(|gate| gate.suspension_id.is_some())
        };
        questions.iter_mut().filter(move |(id, _)| !is_asked(id)).map(|(_, prepared)| &mut prepared.question)
    }

    /// Whether this suspension is one of its questions that are open.
    pub fn asks(&self, id: SuspensionId) -> bool {
        self.gates.iter().any(|gate| gate.suspension_id == Some(id))
    }

    /// Whether a condition for this task does not hold; `None` if one of them is not decided yet.
    pub fn rules_out(&self, task: TaskId) -> Option<bool> {
        let mut conditions = self.conditions.iter().filter(|condition| condition.body.task_id == task);
        conditions.try_fold(false, |ruled_out, condition| Some(ruled_out || !condition.holds?))
    }

    /// Whether its tasks may begin.
    pub fn lets_begin(&self) -> bool {
        self.state == PlanState::Active
    }
}

/// The words and data of a plan.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PlanBody {
    /// Data of its creator, which mean nothing to the server.
    pub metadata: Map<String, Value>,
}

/// Tasks, checkpoints and conditions of a plan, as requested.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outline {
    /// Its tasks; absent to leave them.
    pub tasks: Option<Vec<TaskId>>,
    /// Its checkpoints, each with its prepared question if a person must decide; absent to leave them.
    pub checkpoints: Option<Vec<(CheckpointBody, Option<Prepared>)>>,
    /// Its conditions; absent to leave them.
    pub conditions: Option<Vec<ConditionBody>>,
}

/// A new plan.
#[derive(Clone, Debug, PartialEq)]
pub struct NewPlan {
    /// Its tasks, checkpoints and conditions.
    pub outline: Outline,
    /// The reaction to a task of it that has failed for good.
    pub on_failure: FailureAction,
    /// The question about a task that has failed for good.
    pub on_failure_question: Prepared,
    /// The treatment of the intent's title, which is in the header of every mail about a question, if it seems to hold a secret.
    pub seeming_secret: SeemingSecret,
    /// Data of its creator.
    pub body: PlanBody,
    /// A secret from which the ids of its questions are made.
    pub seed: [u8; 32],
}

/// A change of a plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanChange {
    /// Its tasks, checkpoints and conditions.
    pub outline: Outline,
    /// Its state; absent to leave it.
    pub state: Option<PlanState>,
    /// The question whether its tasks may begin, if the plan is to be active. It is asked only if the guardrails of the intent want a
    /// review.
    pub review: Option<Prepared>,
    /// The treatment of the names of the tasks, which people read in the review, if one seems to hold a secret.
    pub seeming_secret: SeemingSecret,
}

/// A command about one plan.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanCommand {
    /// The plan; for a new one, the id that it will have.
    pub id: PlanId,
    /// The step to be taken.
    pub step: PlanStep,
}

/// A step to be taken with a plan.
#[derive(Clone, Debug, PartialEq)]
pub enum PlanStep {
    /// Create it.
    Create(Box<NewPlan>),
    /// Change its tasks, checkpoints and conditions, its state, or both.
    Change(Box<PlanChange>),
}

impl PlanCommand {
    /// The tasks, checkpoints and conditions that it gives the plan.
    fn outline(&self) -> &Outline {
        match &self.step {
            PlanStep::Create(new) => &new.outline,
            PlanStep::Change(change) => &change.outline,
        }
    }

    /// Whether it names the people of a question, or the people behind the asker are to be left out of them.
    pub fn chooses_people(&self) -> bool {
        let checkpoints = self.outline().checkpoints.iter().flatten().filter_map(|(_, question)| question.as_ref());
        let other = match &self.step {
            PlanStep::Create(new) => Some(&new.on_failure_question),
            PlanStep::Change(change) => change.review.as_ref(),
        };
        let mut questions = checkpoints.chain(other);
        questions.any(|Prepared { question, .. }| question.assignees.is_some() || question.separation.is_some())
    }

    /// The warnings about the checkpoints that it gives the plan, each with the path of its checkpoint.
    pub fn warnings(&self) -> Vec<String> {
        let asked = self.outline().checkpoints.iter().flatten().enumerate();
        let asked = asked.filter_map(|(place, (_, question))| Some((checkpoint_path(place), &question.as_ref()?.warnings)));
        asked.flat_map(|(path, warnings)| warnings.iter().map(move |warning| format!("{path}: {warning}"))).collect()
    }

    /// The questions that it gives the plan, each with the path of the member of the plan from which it is made. A question about a failed
    /// task that the plan never asks, and the review unless the plan `is_reviewed`, are passed over: their people decide nothing, so the
    /// plan must not be refused for them.
    pub fn questions_mut(&mut self, is_reviewed: bool) -> impl Iterator<Item = (String, &mut Prepared)> {
        let (outline, other) = match &mut self.step {
            PlanStep::Create(new) => {
                let NewPlan { outline, on_failure, on_failure_question, .. } = &mut **new;
                let asks = *on_failure == FailureAction::PauseAndEscalate;
                (outline, asks.then_some((ON_FAILURE.to_owned(), on_failure_question)))
            }
            PlanStep::Change(change) => {
                let PlanChange { outline, review, .. } = &mut **change;
                (outline, review.as_mut().filter(|_| is_reviewed).map(|review| (STATE.to_owned(), review)))
            }
        };
        let checkpoints = outline.checkpoints.iter_mut().flatten().enumerate();
        checkpoints.filter_map(|(place, (_, question))| Some((checkpoint_path(place), question.as_mut()?))).chain(other)
    }

    /// The tasks that a store loads for the command.
    pub fn names_tasks(&self) -> Vec<TaskId> {
        self.outline().tasks.clone().unwrap_or_default()
    }
}

/// How many of a plan's tasks have each status, in the order of [`TaskStatus::ALL`].
pub fn counted(tasks: &[Task]) -> [usize; TaskStatus::ALL.len()] {
    TaskStatus::ALL.map(|status| tasks.iter().filter(|task| task.status == status).count())
}
