//! How the tasks and plans of an intent go on after any command: the one place that makes tasks ready, reaches checkpoints, asks people
//! about plans, and acts on their decisions (RFC-0012, RFC-0026 §3).

use chrono::{DateTime, Utc};

use crate::base::ids::{PlanId, SuspensionId, TaskId};
use crate::container::condition::CONDITION;
use crate::container::event::{Blocked, Ended, Named, Retrying, TaskEvent, Unblocked};
use crate::container::plan::{Cause, CheckpointStatus, FailureAction, Gate, Plan, PlanState, Prepared};
use crate::container::plan_event::{
    Asked, ConditionDecided, Decided, FailureDecided, Moved, PlanEvent, Reached, Reviewed, follow_task,
};
use crate::container::task::{INTENT_ABANDONED, INTENT_SUSPENDED, Task, TaskStatus};
use crate::intent::Intent;
use crate::intent::command::Suspend;
use crate::intent::event::{Event, ending_of};
use crate::intent::leases;
use crate::intent::status::Status;
use crate::intent::stop_event::StopEvent;
use crate::intent::suspend::suspend;
use crate::people::principal::Principal;
use crate::suspension::{Ending, Resolution, YES};

/// The reason for which a plan pauses at a checkpoint.
const CHECKPOINT: &str = "checkpoint";
/// The reason for which a plan pauses or fails after a task of it has failed for good.
const TASK_FAILED: &str = "task_failed";
/// The reason for which a plan fails that a person has stopped.
const REJECTED: &str = "rejected";
/// The reason for which the tasks of a plan are cancelled that has failed or was given up.
const PLAN_ENDED: &str = "plan_ended";

/// An intent as the events so far leave it, with those events.
struct Course<'a> {
    before: &'a Intent,
    status: Status,
    /// Whether a question is open, or announced.
    is_asked: bool,
    tasks: Vec<Task>,
    plans: Vec<Plan>,
    events: Vec<Event>,
    now: DateTime<Utc>,
}

/// Adds to these events all that follow from them for the tasks and plans of the intent.
pub(super) fn settled(intent: &Intent, events: Vec<Event>, now: DateTime<Utc>) -> Vec<Event> {
    let concerns = |event: &Event| matches!(event, Event::Task(_) | Event::Plan(_));
    let has_any = !intent.tasks.is_empty() || !intent.plans.is_empty();
    if events.is_empty() || !has_any && !events.iter().any(concerns) {
        return events;
    }
    let (tasks, plans) = (intent.tasks.clone(), intent.plans.clone());
    let is_asked = intent.open.is_some() || intent.announcement.is_some();
    let events_so_far = Vec::with_capacity(events.len());
    let mut course = Course { before: intent, status: intent.status, is_asked, tasks, plans, events: events_so_far, now };
    let ending = ended(intent, &events, now);
    let failed = failed(&events);
    for event in events {
        course.push(event);
    }
    course.mirror(intent.status, ending.as_ref().map(|(_, ending)| ending.resolution));
    if course.status == Status::Abandoned && intent.status != Status::Abandoned {
        course.fail_all();
        return course.events;
    }
    if let Some((id, ending)) = &ending {
        course.decide(*id, ending);
    }
    for id in failed {
        course.act_on_failure(id);
    }
    course.go_on();
    course.events
}

/// The suspension of the intent itself that these events end.
fn ended(intent: &Intent, events: &[Event], now: DateTime<Utc>) -> Option<(SuspensionId, Ending)> {
    let open = intent.open.as_ref()?.id;
    events.iter().find_map(|event| ending_of(event, now).filter(|(id, _)| *id == open))
}

/// The tasks of which an attempt failed.
fn failed(events: &[Event]) -> Vec<TaskId> {
    let failed = |event: &Event| {
        let Event::Task(change) = event else { return None };
        if let TaskEvent::Failed(failed) = &**change { Some(failed.task_id) } else { None }
    };
    events.iter().filter_map(failed).collect()
}

impl Course<'_> {
    fn push(&mut self, event: Event) {
        if let Event::StatusChanged { new, .. } = &event {
            self.status = *new;
            self.is_asked = *new == Status::SuspendedAwaitingInput;
        }
        if let Event::Task(change) = &event {
            follow_task(change, &mut self.tasks, &mut self.plans, self.now);
        }
        if let Event::Plan(change) = &event {
            change.apply(&mut self.plans, &mut self.tasks, self.now);
        }
        self.events.push(event);
    }

    fn task(&mut self, event: TaskEvent) {
        self.push(Event::Task(Box::new(event)));
    }

    fn plan(&mut self, event: PlanEvent) {
        self.push(Event::Plan(Box::new(event)));
    }

    /// If the intent began or ceased to wait for a person, blocks or unblocks its tasks (RFC-0026 §3, rule 3).
    fn mirror(&mut self, before: Status, resolution: Option<Resolution>) {
        let (was, is) = (before == Status::SuspendedAwaitingInput, self.status == Status::SuspendedAwaitingInput);
        let tasks: Vec<Task> = if was == is { Vec::new() } else { self.tasks.clone() };
        // Work that is being ended takes nothing up again: its tasks end with it.
        let begins_to_end = |event: &Event| matches!(event, Event::Stop(stop) if matches!(**stop, StopEvent::Stopping(_)));
        let goes_on = self.status != Status::Abandoned && !self.events.iter().any(begins_to_end);
        for task in tasks {
            if is && task.status == TaskStatus::Running {
                self.task(blocked_by_suspension(self.before, &task));
            } else if was && goes_on && task.mirrors_suspension() {
                self.task(TaskEvent::Unblocked(Unblocked { task_id: task.id, resolution, credential: None }));
            }
        }
    }

    /// Ends everything: the intent was abandoned.
    fn fail_all(&mut self) {
        for task in self.tasks.clone().iter().filter(|task| task.status.is_unfinished()) {
            self.cancel(task, INTENT_ABANDONED);
        }
        for id in self.plans.iter().filter(|plan| !plan.state.is_final()).map(|plan| plan.id).collect::<Vec<_>>() {
            self.plan(PlanEvent::Failed(moved(id, Some(INTENT_ABANDONED), None)));
        }
    }

    /// Cancels a task, and releases the lease by which an agent holds it.
    fn cancel(&mut self, task: &Task, reason: &str) {
        if let Some(lease) = task.lease(&self.before.leases).filter(|_| task.is_held()) {
            self.push(leases::released(lease, self.now));
        }
        self.task(TaskEvent::Cancelled(Ended { task_id: task.id, reason: Some(reason.to_owned()), credential: None }));
    }

    /// Acts on the end of a question about a plan.
    fn decide(&mut self, id: SuspensionId, ending: &Ending) {
        let asked = self.plans.iter().find_map(|plan| {
            let gate = plan.gates.iter().find(|gate| gate.suspension_id == Some(id))?;
            Some((plan.id, gate.cause.clone()))
        });
        let Some((plan, cause)) = asked else { return };
        let goes_on = ending.resolution != Resolution::Cancelled && ending.response.as_ref().is_some_and(|value| value == YES);
        self.decided(plan, &cause, goes_on, Some((id, ending)));
    }

    /// Records a decision about a plan. If the plan may not go on, it fails.
    fn decided(&mut self, plan_id: PlanId, cause: &Cause, goes_on: bool, ended: Option<(SuspensionId, &Ending)>) {
        let suspension_id = ended.map(|(id, _)| id);
        let decided_by = ended.and_then(|(_, ending)| ending.by.clone());
        match cause {
            Cause::Checkpoint(id) => {
                let resolution = ended.map(|(_, ending)| ending.resolution);
                let decided = Decided { plan_id, checkpoint_id: id.clone(), suspension_id, resolution, decided_by };
                self.plan(if goes_on { PlanEvent::Approved(decided) } else { PlanEvent::Rejected(decided) });
            }
            Cause::Review => {
                self.plan(PlanEvent::Reviewed(Reviewed { plan_id, goes_on, suspension_id, decided_by }));
            }
            Cause::Failure(task_id) => {
                let decided = FailureDecided { plan_id, task_id: *task_id, goes_on, suspension_id, decided_by };
                self.plan(PlanEvent::FailureDecided(decided));
                if goes_on {
                    self.task(TaskEvent::Skipped(Ended {
                        task_id: *task_id,
                        reason: Some(TASK_FAILED.to_owned()),
                        credential: None,
                    }));
                }
            }
        }
        if !goes_on {
            self.end_plan(PlanEvent::Failed(moved(plan_id, Some(REJECTED), None)));
        }
    }

    /// Ends a plan, and cancels its tasks that are not finished.
    fn end_plan(&mut self, event: PlanEvent) {
        let id = event.plan_id();
        self.plan(event);
        self.cancel_tasks(id);
    }

    fn cancel_tasks(&mut self, plan: PlanId) {
        for task in self.tasks.clone().iter().filter(|task| task.plan_id == Some(plan) && task.status.is_unfinished()) {
            self.cancel(task, PLAN_ENDED);
        }
    }

    /// An attempt at a task has failed: does what its plan says.
    fn act_on_failure(&mut self, id: TaskId) {
        let Some(task) = self.tasks.iter().find(|task| task.id == id).cloned() else { return };
        let Some(plan) = self.plans.iter().find(|plan| Some(plan.id) == task.plan_id && !plan.state.is_final()) else { return };
        let (plan_id, is_last) = (plan.id, task.attempt >= task.max_attempts);
        match plan.on_failure {
            FailureAction::Retry if !is_last => {
                let retrying = Retrying { task_id: id, attempt: task.attempt + 1, reason: None, credential: None };
                self.task(TaskEvent::Retrying(retrying));
            }
            FailureAction::Fail | FailureAction::Retry if is_last => {
                self.end_plan(PlanEvent::Failed(moved(plan_id, Some(TASK_FAILED), Some(id))));
            }
            FailureAction::PauseAndEscalate if is_last => {
                self.plan(PlanEvent::Paused(moved(plan_id, Some(TASK_FAILED), Some(id))));
            }
            FailureAction::Notify | FailureAction::Fail | FailureAction::Retry | FailureAction::PauseAndEscalate => {}
        }
    }

    /// Reaches checkpoints, resumes and completes plans, makes tasks ready, and asks people, until nothing more follows.
    fn go_on(&mut self) {
        loop {
            let before = self.events.len();
            for plan in self.plans.clone().iter().filter(|plan| !plan.state.is_final()) {
                self.judge(plan);
            }
            for plan in self.plans.clone().iter().filter(|plan| !plan.state.is_final() && plan.state != PlanState::Draft) {
                self.reach(plan);
            }
            for plan in self.plans.clone() {
                self.move_on(&plan);
            }
            for task in self.tasks.clone() {
                let plan = self.plans.iter().find(|plan| Some(plan.id) == task.plan_id);
                let may_begin = task.plan_id.is_none() || plan.is_some_and(Plan::lets_begin);
                if task.status == TaskStatus::Pending && task.waits_for.is_empty() && may_begin {
                    self.begin_or_skip(task.id, plan.map_or(Some(false), |plan| plan.rules_out(task.id)));
                }
                if task.waits_for_parts() {
                    self.go_on_after_parts(&task);
                }
            }
            self.ask();
            if self.events.len() == before {
                return;
            }
        }
    }

    /// Decides the conditions that read the result of a task that is completed. A task that was skipped has no result.
    fn judge(&mut self, plan: &Plan) {
        for condition in plan.conditions.iter().filter(|condition| condition.holds.is_none()) {
            let Some(comparison) = condition.body.comparison() else { continue };
            if !self.tasks.iter().any(|task| task.id == comparison.reads && task.status.is_done()) {
                continue;
            }
            let result = self.events.iter().find_map(|event| {
                let Event::Task(change) = event else { return None };
                let TaskEvent::Completed(completed) = &**change else { return None };
                completed.output.as_ref().filter(|_| completed.task_id == comparison.reads)
            });
            let (plan_id, condition_id, task_id) = (plan.id, condition.body.id.clone(), condition.body.task_id);
            let holds = comparison.holds(result);
            self.plan(PlanEvent::ConditionDecided(ConditionDecided { plan_id, condition_id, task_id, holds }));
        }
    }

    /// Makes a task ready for which nothing is left to wait, or skips it if its plan rules it out. A condition that is not decided yet
    /// waits for the task whose result it reads.
    fn begin_or_skip(&mut self, task_id: TaskId, ruled_out: Option<bool>) {
        let credential = None;
        match ruled_out {
            Some(false) => self.task(TaskEvent::Ready(Named { task_id, credential })),
            Some(true) => self.task(TaskEvent::Skipped(Ended { task_id, reason: Some(CONDITION.to_owned()), credential })),
            None => {}
        }
    }

    /// Lets a task go on that waits for the parts of its work that its agent has delegated, if one of these has just ended and none is
    /// left.
    fn go_on_after_parts(&mut self, task: &Task) {
        let changed = |event: &Event| if let Event::Task(change) = event { Some(change.task_id()) } else { None };
        let changed: Vec<TaskId> = self.events.iter().filter_map(changed).collect();
        let mut parts = self.tasks.iter().filter(|part| part.parent_task_id == Some(task.id));
        let has_changed = parts.clone().any(|part| changed.contains(&part.id));
        if !has_changed || !parts.all(Task::is_over) {
            return;
        }
        if self.status == Status::SuspendedAwaitingInput {
            // It waits for the person then, as if it had been running.
            return self.task(blocked_by_suspension(self.before, task));
        }
        let lease = task.lease(&self.before.leases).and_then(|lease| leases::revived(self.before, lease, self.now));
        if let Some(renewed) = lease {
            self.push(renewed);
        }
        self.task(TaskEvent::Unblocked(Unblocked { task_id: task.id, resolution: None, credential: None }));
    }

    /// Reaches the checkpoints behind tasks that are over. A task that was cancelled, or has failed for good, counts as well: otherwise its
    /// agent could avoid the person by giving it up.
    fn reach(&mut self, plan: &Plan) {
        let is_over = |id: TaskId| self.tasks.iter().any(|task| task.id == id && task.is_over());
        let pending = plan.checkpoints.iter().filter(|checkpoint| checkpoint.status == CheckpointStatus::Pending);
        let reached: Vec<_> = pending.filter(|checkpoint| is_over(checkpoint.body.after_task)).cloned().collect();
        for checkpoint in reached {
            let body = checkpoint.body;
            let (plan_id, checkpoint_id, after_task) = (plan.id, body.id, body.after_task);
            self.plan(PlanEvent::Reached(Reached { plan_id, checkpoint_id, name: body.name, after_task }));
            let is_active = self.plans.iter().any(|plan| plan.id == plan_id && plan.state == PlanState::Active);
            if body.requires_approval && is_active {
                self.plan(PlanEvent::Paused(moved(plan_id, Some(CHECKPOINT), None)));
            }
        }
    }

    /// Resumes a plan that waits for nothing more, and completes one whose tasks are done. If an agent has just given the plan up, cancels
    /// its tasks.
    fn move_on(&mut self, plan: &Plan) {
        let waits = plan.is_held || !plan.gates.is_empty();
        let mut tasks = plan.tasks.iter();
        let is_done = |id: &TaskId| self.tasks.iter().all(|task| task.id != *id || task.status.is_done());
        match plan.state {
            PlanState::Paused if !waits => self.plan(PlanEvent::Resumed(moved(plan.id, None, None))),
            PlanState::Active if tasks.all(is_done) => {
                self.plan(PlanEvent::Completed(moved(plan.id, None, None)));
            }
            PlanState::Cancelled => self.cancel_tasks(plan.id),
            PlanState::Draft | PlanState::Active | PlanState::Paused | PlanState::Completed | PlanState::Failed => {}
        }
    }

    /// Asks the first question that a plan waits for, if the intent can wait for the answer. If the question can never be asked, because the
    /// intent is completed or the deadline of a portfolio has passed, the plan fails.
    fn ask(&mut self) {
        if !matches!(self.status, Status::Active | Status::Completed) || self.is_asked {
            return;
        }
        let unasked = |plan: &Plan| plan.gates.iter().find(|gate| gate.suspension_id.is_none()).cloned();
        let first = self.plans.iter().filter(|plan| !plan.state.is_final()).find_map(|plan| Some((plan.clone(), unasked(plan)?)));
        let Some((plan, gate)) = first else { return };
        let by = Principal::agent(&plan.created_by.name, plan.created_by.owner.clone());
        // The people at a checkpoint are those that the plan names, and the coordinator adds no other.
        let as_it_is =
            Intent { status: Status::Active, open: None, announcement: None, coordinator: None, ..self.before.clone() };
        let prepared = plan.prepared(&gate.cause).filter(|_| self.status == Status::Active);
        let asked = prepared.map(|prepared| question(&plan, &gate, prepared, &self.tasks));
        let asked = asked.and_then(|question| suspend(&as_it_is, &question, &by, self.now).ok());
        let Some(asked) = asked else { return self.decided(plan.id, &gate.cause, false, None) };
        let (plan_id, suspension_id) = (plan.id, plan.next_question());
        let (mut checkpoint_id, mut task_id) = (None, None);
        match &gate.cause {
            Cause::Checkpoint(id) => checkpoint_id = Some(id.clone()),
            Cause::Failure(id) => task_id = Some(*id),
            Cause::Review => {}
        }
        self.plan(PlanEvent::Asked(Asked { plan_id, suspension_id, checkpoint_id, task_id }));
        for event in asked {
            self.push(event);
        }
        self.mirror(Status::Active, None);
    }
}

/// The question for which a plan waits. If the task of a checkpoint was not completed, its people are told.
fn question(plan: &Plan, gate: &Gate, prepared: &Prepared, tasks: &[Task]) -> Suspend {
    let mut question = prepared.question.clone();
    if let Cause::Checkpoint(id) = &gate.cause
        && let Some(checkpoint) = plan.checkpoints.iter().find(|checkpoint| checkpoint.body.id == *id)
        && let Some(task) = tasks.iter().find(|task| task.id == checkpoint.body.after_task)
        && task.status != TaskStatus::Completed
    {
        question.context.insert("task_status".to_owned(), task.status.as_str().into());
    }
    if let Cause::Failure(id) = gate.cause {
        question.context.insert("task_id".to_owned(), serde_json::json!(id));
    }
    question.context.insert("plan_id".to_owned(), serde_json::json!(plan.id));
    Suspend { question, ..Suspend::prepared(prepared, plan.next_question()) }
}

fn moved(plan_id: PlanId, reason: Option<&str>, task_id: Option<TaskId>) -> Moved {
    Moved { plan_id, reason: reason.map(str::to_owned), task_id, credential: None }
}

/// The task waits for the person for whom its intent waits.
fn blocked_by_suspension(intent: &Intent, task: &Task) -> TaskEvent {
    TaskEvent::Blocked(Blocked {
        task_id: task.id,
        blocked_reason: INTENT_SUSPENDED.to_owned(),
        suspended_intent_id: Some(intent.id),
        credential: None,
    })
}
