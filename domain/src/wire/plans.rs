//! Bodies about plans (RFC-0012).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::{IntentId, PlanId, SuspensionId, TaskId};
use crate::base::sealed::Hash;
use crate::container::condition::{Condition, ConditionBody};
use crate::container::plan::{
    Cause, Checkpoint, CheckpointStatus, FailureAction, Plan, PlanBody, PlanState, TimeoutAction, counted,
};
use crate::container::task::{Task, TaskStatus};
use crate::form::Schema;
use crate::suspension::RequiredAssurance;
use crate::suspension::assignees::Assignees;
use crate::suspension::demand::Risk;
use crate::suspension::evidence::action_digest;
use crate::suspension::grounds::{Explanation, Reversibility};
use crate::suspension::quorum::{Quorum, Tally};
use crate::wire::{QuorumRequest, SuspensionRecord};

/// `POST /api/v1/plans`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CreatePlanRequest {
    /// The intent whose work it plans.
    pub intent_id: String,
    /// Its tasks: tasks of the same intent that are pending or ready and in no other plan, at most 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100)]
    pub tasks: Option<Vec<String>>,
    /// Its checkpoints, at most 20.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub checkpoints: Option<Vec<CheckpointRequest>>,
    /// Its conditions, at most 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub conditions: Option<Vec<ConditionRequest>>,
    /// The reaction to a task that has failed for good; `pause_and_escalate` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_failure: Option<FailureAction>,
    /// Must be absent or `notify`: the log and the subscriptions tell of the end of a plan.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_complete: Option<String>,
    /// Data, which mean nothing to the server; at most 32 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Value>>,
}

/// A checkpoint of a plan. Other members are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointRequest {
    /// Its id, unique in the plan.
    #[schema(min_length = 1, max_length = 200)]
    pub id: String,
    /// Its name, which people read.
    #[schema(min_length = 1, max_length = 200)]
    pub name: String,
    /// The task of the plan behind which it stands.
    pub after_task: String,
    /// Whether a person must decide; true by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requires_approval: Option<bool>,
    /// The addresses of the people who are asked, at most 20; the operators of the server by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub approvers: Option<Vec<String>>,
    /// The time that they have, 1 to 8,760 hours.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 1, maximum = 8_760)]
    pub timeout_hours: Option<u32>,
    /// The reaction if they do not decide in time; `escalate` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_timeout: Option<TimeoutAction>,
    /// The people, groups and roles who may decide; every operator and admin by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Assignees>,
    /// How many of them must agree; one by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<QuorumRequest>,
    /// How sure the server must be of the person who decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_assurance: Option<RequiredAssurance>,
    /// How much can go wrong: `low`, `medium`, `high` or `critical`. The server may demand more of the person the higher it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The arguments of the action about which people decide, at most 64 KiB. The decision has the action as the person approved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub proposal: Option<Map<String, Value>>,
    /// The JSON Schema (draft 2020-12) of the members of `proposal` that people may edit, at most 16 KiB; people edit nothing without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub editable: Option<Map<String, Value>>,
    /// The agent's own name for questions of this kind, 1 to 200 characters. People see the newest decisions about questions with the same
    /// key of the same agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub question_key: Option<String>,
    /// The agent's explanation of what follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Whether what follows can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversibility: Option<Reversibility>,
    /// The agent's confidence, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: Option<f64>,
    /// Must be absent or `pending`: the server sets it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<String>,
}

/// A condition of a plan. Other members are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConditionRequest {
    /// Its id, unique among the conditions of the plan.
    #[schema(min_length = 1, max_length = 200)]
    pub id: String,
    /// The task of the plan that is skipped if the condition does not hold.
    pub task_id: String,
    /// `tasks['ID'].output.NAME OP VALUE`: the result of a task on which `task_id` depends, compared with a text in quotes, a number, true,
    /// false or null.
    #[schema(max_length = 1_000)]
    pub when: String,
    /// Must be absent or `skip`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub otherwise: Option<String>,
}

/// The reaction to a condition that does not hold: its task is skipped.
pub const OTHERWISE: &str = "skip";

/// `PATCH /api/v1/plans/{id}`: an absent member changes nothing. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct UpdatePlanRequest {
    /// The new state: `active`, `paused` or `cancelled`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PlanState>,
    /// The tasks of a draft, in place of all present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 100)]
    pub tasks: Option<Vec<String>>,
    /// The checkpoints of a draft, in place of all present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 20)]
    pub checkpoints: Option<Vec<CheckpointRequest>>,
    /// The conditions of a draft, in place of all present ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub conditions: Option<Vec<ConditionRequest>>,
}

/// `POST /api/v1/checkpoints/{id}/approve` and `…/reject`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DecideCheckpointRequest {
    /// The plan of the checkpoint: the id of a checkpoint is unique in its plan only.
    pub plan_id: String,
    /// The reasons of the person; `reason` means the same.
    #[serde(default, alias = "reason", skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub notes: Option<String>,
    /// The person who decides. The subject of the key is this person, and another name here is kept as a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub decided_by: Option<String>,
    /// The action as the person approves it, with the edits of the person; as it stands if it is absent. Only at a checkpoint that proposes
    /// an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub proposal: Option<Map<String, Value>>,
    /// The `action_digest` of the question's record from which the person decides; needed if another person has edited the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub based_on: Option<String>,
}

/// A checkpoint as the OpenIntent client reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct CheckpointView {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The task behind which it stands.
    pub after_task: TaskId,
    /// Whether a person must decide.
    pub requires_approval: bool,
    /// The people who are asked; empty for the operators of the server.
    pub approvers: Vec<String>,
    /// The time that they have, in hours.
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
    /// While more people must agree: how many have approved the action as it stands, and how many must. Absent without a quorum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approvals: Option<Tally>,
    /// The arguments of the action: while the question is open as they stand, with the edits of people whose answers count, and then as they
    /// were approved. Absent if the checkpoint proposes none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub proposal: Option<Map<String, Value>>,
    /// The action as the agent proposed it; absent if it was not edited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub original_proposal: Option<Map<String, Value>>,
    /// SHA-256 of the RFC 8785 bytes of `proposal`; absent without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub action_digest: Option<Hash>,
    /// The JSON Schema of the members of `proposal` that people may edit; absent if they may edit none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub editable: Option<Box<Schema>>,
    /// The agent's own name for questions of this kind; absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question_key: Option<String>,
    /// The agent's explanation of what follows; absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Whether what follows can be taken back, as the agent declared it; absent if it declared nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversibility: Option<Reversibility>,
    /// The agent's confidence; absent if it gave none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub confidence: Option<f64>,
    /// How far it is.
    pub status: CheckpointStatus,
    /// The question, while it is open.
    pub suspension_id: Option<SuspensionId>,
    /// The person who approved it, or rejected it.
    pub approved_by: Option<String>,
    /// When that was.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub approved_at: Option<DateTime<Utc>>,
}

/// A condition as the OpenIntent client reads it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ConditionView {
    /// Its id.
    pub id: String,
    /// The task that is skipped if it does not hold.
    pub task_id: TaskId,
    /// The condition.
    pub when: String,
    /// `skip`.
    pub otherwise: String,
    /// Whether it holds; null until the task whose result it reads is completed or skipped.
    pub holds: Option<bool>,
}

/// How far the tasks of a plan are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct PlanProgress {
    /// How many tasks there are.
    pub total: usize,
    /// How many tasks have each of the nine statuses.
    #[schema(value_type = Object)]
    pub by_status: Map<String, Value>,
    /// The percentage of tasks that are completed or skipped, rounded down; 0 without tasks.
    pub completion_percentage: usize,
    /// The tasks that wait for a person, because their intent does.
    pub suspended_tasks: Vec<SuspendedTask>,
}

/// A task that waits for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SuspendedTask {
    /// The task.
    pub task_id: TaskId,
    /// Its intent.
    pub intent_id: IntentId,
    /// The time since which the intent waits.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String)]
    pub suspended_since: DateTime<Utc>,
    /// The deadline of the question; null if it has none.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<DateTime<Utc>>,
}

/// A plan as the OpenIntent client reads it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct PlanView {
    /// Its id.
    pub id: PlanId,
    /// The intent whose work it plans.
    pub intent_id: IntentId,
    /// 1 at first, and higher after each change.
    pub version: u32,
    /// Its state.
    pub state: PlanState,
    /// The name of the credential that created it.
    pub created_by: String,
    /// Its tasks.
    pub tasks: Vec<TaskId>,
    /// Its checkpoints.
    pub checkpoints: Vec<CheckpointView>,
    /// Its conditions.
    pub conditions: Vec<ConditionView>,
    /// The reaction to a task that has failed for good.
    pub on_failure: FailureAction,
    /// `notify`.
    pub on_complete: String,
    /// Data of its creator.
    #[schema(value_type = Object)]
    pub metadata: Map<String, Value>,
    /// How far its tasks are.
    pub progress: PlanProgress,
    /// Differences between the request as written and as understood; in the reply to a change of the plan only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// When it was created.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub created_at: DateTime<Utc>,
    /// When it last changed.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String, pattern = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}$", examples("2026-11-24T08:00:00.000000"))]
    pub updated_at: DateTime<Utc>,
}

impl PlanView {
    /// A plan as it is shown, with its tasks. `waiting` is the time since which the intent waits for a person, and the deadline of the
    /// question. `asked` are the records of the questions at its checkpoints, as far as these propose an action or several people must agree.
    pub fn of(
        intent_id: IntentId,
        plan: Plan,
        body: PlanBody,
        (tasks, asked): (&[Task], &[SuspensionRecord]),
        waiting: Option<(DateTime<Utc>, Option<DateTime<Utc>>)>,
    ) -> Self {
        let suspended = |task: &Task| {
            let (suspended_since, expires_at) = waiting.filter(|_| task.mirrors_suspension())?;
            Some(SuspendedTask { task_id: task.id, intent_id, suspended_since, expires_at })
        };
        let (by_status, total) = (counted(tasks), tasks.len());
        let done = tasks.iter().filter(|task| task.status.is_done()).count();
        let by_status = TaskStatus::ALL.iter().zip(by_status).map(|(status, count)| (status.as_str().to_owned(), count.into()));
        let progress = PlanProgress {
            total,
            by_status: by_status.collect(),
            completion_percentage: (done * 100).checked_div(total).unwrap_or(0),
            suspended_tasks: tasks.iter().filter_map(suspended).collect(),
        };
        Self {
            id: plan.id,
            intent_id,
            version: plan.version,
            state: plan.state,
            created_by: plan.created_by.name.clone(),
            checkpoints: plan.checkpoints.iter().map(|checkpoint| CheckpointView::of(checkpoint, &plan, asked)).collect(),
            tasks: plan.tasks,
            conditions: plan.conditions.into_iter().map(ConditionView::of).collect(),
            on_failure: plan.on_failure,
            on_complete: "notify".to_owned(),
            metadata: body.metadata,
            progress,
            warnings: Vec::new(),
            created_at: plan.created_at,
            updated_at: plan.updated_at,
        }
    }
}

impl ConditionView {
    fn of(condition: Condition) -> Self {
        let ConditionBody { id, task_id, when } = condition.body;
        Self { id, task_id, when, otherwise: OTHERWISE.to_owned(), holds: condition.holds }
    }
}

impl CheckpointView {
    fn of(checkpoint: &Checkpoint, plan: &Plan, records: &[SuspensionRecord]) -> Self {
        let body = checkpoint.body.clone();
        let question = plan.question_of(checkpoint);
        let record = records.iter().find(|record| Some(record.id) == question);
        let asked = plan.prepared(&Cause::Checkpoint(body.id.clone())).map(|prepared| &prepared.question);
        let proposal = asked.and_then(|question| question.proposal.as_deref());
        let grounds = asked.and_then(|question| question.grounds.as_deref());
        // The record has the action with the edits of people, and none if its content was erased.
        let action = match record {
            Some(record) => record.proposal.clone(),
            None => proposal.map(|proposal| proposal.action.clone()),
        };
        Self {
            approvals: record.and_then(|record| record.approvals),
            action_digest: action.as_ref().and_then(action_digest),
            original_proposal: record.and_then(|record| record.original_proposal.clone()),
            proposal: action,
            editable: proposal.and_then(|proposal| proposal.editable.clone()),
            question_key: grounds.and_then(|grounds| grounds.question_key.clone()),
            explanation: grounds.and_then(|grounds| grounds.explanation.clone()),
            reversibility: grounds.and_then(|grounds| grounds.reversibility),
            confidence: asked.and_then(|question| question.confidence_at_suspension),
            suspension_id: plan.question_at(&body.id),
            id: body.id,
            name: body.name,
            after_task: body.after_task,
            requires_approval: body.requires_approval,
            approvers: body.approvers,
            timeout_hours: body.timeout_hours,
            on_timeout: body.on_timeout,
            assignees: body.assignees,
            quorum: body.quorum,
            required_assurance: body.required_assurance,
            status: checkpoint.status,
            approved_by: checkpoint.decided_by.clone(),
            approved_at: checkpoint.decided_at,
        }
    }
}
