//! Decides about the tasks of an intent (RFC-0012).

use chrono::{DateTime, Utc};

use crate::base::ids::{PlanId, TaskId};
use crate::container::event::{
    Blocked, Claimed, Completed, Created, Delegated, Ended, Failed, Named, Progressed, Retrying, TaskEvent, Unblocked,
};
use crate::container::plan::PLAN_TASKS_MAX;
use crate::container::plan_event::{PlanEvent, WorkerJoined};
use crate::container::task::{
    DELEGATED, ESCALATED, LEASE_EXPIRED, MANUAL, NewTask, Progress, TASKS_MAX, Task, TaskChange, TaskCommand, TaskStatus,
    TaskStep, UNFINISHED_MAX,
};
use crate::intent::event::Event;
use crate::intent::refusal::Refusal;
use crate::intent::status::Status;
use crate::intent::{Intent, coordinators, leases, workflow};
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::Asker;

/// Decides the effect of a command about a task that the store has loaded, with those that wait for it.
pub(super) fn decide(intent: &Intent, command: &TaskCommand, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    let task = || intent.tasks.iter().find(|task| task.id == command.id).ok_or(Rejection::NotFound);
    let (events, plan_id) = match &command.step {
        TaskStep::Create(new) => {
            coordinators::may_add(intent, new)?;
            (events([create(intent, command.id, new, by)?]), new.plan_id)
        }
        TaskStep::Change(change) => (self::change(intent, command, task()?, change, by, now)?, task()?.plan_id),
        TaskStep::Report(progress) => (report(intent, task()?, progress, by, now)?, task()?.plan_id),
        TaskStep::Delegate { id, task: new } => (delegate(intent, task()?, *id, new, by)?, task()?.plan_id),
        TaskStep::LookAtLease => {
            return Ok(task().map_or_else(|_| Vec::new(), |task| look_at_lease(intent, task, now)));
        }
    };
    Ok(events.into_iter().chain(joins(intent, plan_id, by)).collect())
}

/// If the caller has not worked in the plan before, it does from now on.
fn joins(intent: &Intent, plan_id: Option<PlanId>, by: &Principal) -> Option<Event> {
    let plan = intent.plans.iter().find(|plan| Some(plan.id) == plan_id)?;
    let worker = Asker { name: by.name.clone(), owner: by.owner.clone() };
    let joined = WorkerJoined { plan_id: plan.id, worker: worker.clone(), credential: by.credential };
    (!plan.workers.contains(&worker)).then(|| Event::Plan(Box::new(PlanEvent::WorkerJoined(joined))))
}

fn events(tasks: impl IntoIterator<Item = TaskEvent>) -> Vec<Event> {
    tasks.into_iter().map(|event| Event::Task(Box::new(event))).collect()
}

fn create(intent: &Intent, task_id: TaskId, new: &NewTask, by: &Principal) -> Result<TaskEvent, Rejection> {
    if intent.status.is_final() {
        return Err(Rejection::IntentEnded { status: intent.status.as_str().into() });
    }
    if intent.task_count >= TASKS_MAX {
        return Err(Rejection::invalid("intent_id", "count", format!("an intent has at most {TASKS_MAX} tasks")));
    }
    has_room(intent, "intent_id")?;
    let find = |id: &TaskId| intent.tasks.iter().find(|task| task.id == *id);
    let is_known = |id: &TaskId| find(id).is_some();
    if !new.depends_on.iter().all(is_known) {
        return Err(Rejection::invalid("depends_on", "unknown", "must name tasks of the same intent"));
    }
    if !new.parent_task_id.iter().all(is_known) {
        return Err(Rejection::invalid("parent_task_id", "unknown", "must be a task of the same intent"));
    }
    let is_open = |id: &&TaskId| find(id).is_some_and(|task| !task.status.is_done());
    let waits_for: Vec<_> = new.depends_on.iter().filter(is_open).copied().collect();
    let body = new.body.clone();
    may_join(intent, new)?;
    coordinators::may_create(intent, new)?;
    let created = Created {
        task_id,
        plan_id: new.plan_id,
        name: body.name,
        description: body.description,
        priority: body.priority,
        input: body.input,
        capabilities_required: body.capabilities_required,
        depends_on: new.depends_on.clone(),
        waits_for,
        parent_task_id: new.parent_task_id,
        timeout_seconds: new.timeout_seconds,
        max_attempts: new.max_attempts,
        metadata: body.metadata,
        created_by: Some(Asker { name: by.name.clone(), owner: by.owner.clone() }),
        credential: by.credential,
    };
    Ok(TaskEvent::Created(Box::new(created)))
}

/// Refuses one more task that is not finished, if the intent has as many as it may.
fn has_room(intent: &Intent, field: &str) -> Result<(), Rejection> {
    if intent.tasks.iter().filter(|task| task.status.is_unfinished()).count() < UNFINISHED_MAX {
        return Ok(());
    }
    let message = format!("an intent has at most {UNFINISHED_MAX} tasks that are not finished; finish one first");
    Err(Rejection::invalid(field, "count", message))
}

/// Refuses another attempt at a task of an intent or a plan that has ended.
fn may_retry(intent: &Intent, task: &Task) -> Result<(), Rejection> {
    if intent.status.is_final() {
        return Err(Rejection::IntentEnded { status: intent.status.as_str().into() });
    }
    let plan = intent.plans.iter().find(|plan| Some(plan.id) == task.plan_id);
    if let Some(plan) = plan.filter(|plan| plan.state.is_final()) {
        return Err(Rejection::PlanNotActive { state: plan.state.as_str().into() });
    }
    has_room(intent, "status")
}

/// Refuses a new task of a plan that does not exist, has ended, or is full.
fn may_join(intent: &Intent, new: &NewTask) -> Result<(), Rejection> {
    let Some(id) = new.plan_id else { return Ok(()) };
    let plan = intent.plans.iter().find(|plan| plan.id == id);
    let Some(plan) = plan.filter(|plan| !plan.state.is_final()) else {
        let message = "must be a plan of the same intent that has not ended";
        return Err(Rejection::invalid("plan_id", "unknown", message));
    };
    if plan.tasks.len() >= PLAN_TASKS_MAX {
        return Err(Rejection::invalid("plan_id", "count", format!("a plan has at most {PLAN_TASKS_MAX} tasks")));
    }
    coordinators::may_have_tasks(intent, plan.tasks.len() + 1)
}

fn change(
    intent: &Intent,
    command: &TaskCommand,
    task: &Task,
    change: &TaskChange,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    use TaskStatus::{Blocked, Cancelled, Claimed, Completed, Failed, Pending, Ready, Running, Skipped};
    let (task_id, credential) = (task.id, by.credential);
    let ended = || Ended { task_id, reason: change.reason.clone(), credential };
    if change.assigned_agent.is_some() && task.status != Ready {
        let message = "is set when the task is claimed, and changes only with another attempt";
        return Err(Rejection::invalid("assigned_agent", "value", message).into());
    }
    let refused = || Rejection::TaskTransition { from: task.status.as_str().into(), to: change.status.as_str().into() };
    match (task.status, change.status) {
        (Ready, Claimed) => return claim(intent, command, task, change.assigned_agent.as_ref(), by, now),
        (Ready, Running) => {
            let mut claimed = claim(intent, command, task, change.assigned_agent.as_ref(), by, now)?;
            claimed.extend(events([TaskEvent::Started(Named { task_id, credential })]));
            return Ok(claimed);
        }
        (_, _) => may_change(intent, task, by, now)?,
    }
    let change = match (task.status, change.status) {
        (Claimed, Running) => {
            may_begin(intent, task)?;
            TaskEvent::Started(Named { task_id, credential })
        }
        (Running, Completed) => {
            let (output, artifacts) = (change.output.clone(), change.artifacts.clone());
            TaskEvent::Completed(Box::new(self::Completed { task_id, output, artifacts, credential }))
        }
        (Running, Failed) => {
            TaskEvent::Failed(self::Failed { task_id, attempt: task.attempt, error: change.error.clone(), credential })
        }
        (Running, Blocked) => {
            let blocked_reason = change.reason.clone().unwrap_or_else(|| MANUAL.to_owned());
            TaskEvent::Blocked(self::Blocked { task_id, blocked_reason, suspended_intent_id: None, credential })
        }
        // Only the end of the suspension unblocks a task that the suspension has blocked.
        (Blocked, Running) if task.mirrors_suspension() || intent.status == Status::SuspendedAwaitingInput => {
            return Err(Rejection::IntentSuspended.into());
        }
        (Blocked, Running) => {
            may_begin(intent, task)?;
            coordinators::may_claim(intent)?;
            TaskEvent::Unblocked(Unblocked { task_id, resolution: None, credential })
        }
        (Failed, Ready) if task.attempt < task.max_attempts => {
            may_retry(intent, task)?;
            TaskEvent::Retrying(Retrying { task_id, attempt: task.attempt + 1, reason: None, credential })
        }
        (Pending, Skipped) => TaskEvent::Skipped(ended()),
        (Pending | Ready | Claimed | Running | Blocked, Cancelled) => TaskEvent::Cancelled(ended()),
        (_, _) => return Err(refused().into()),
    };
    Ok(with_effects(intent, task, change, now))
}

/// Adds to a change of a task its effect on the lease by which an agent holds it: a task that ends gives the lease back, and one that goes
/// on has its whole time again.
fn with_effects(intent: &Intent, task: &Task, change: TaskEvent, now: DateTime<Utc>) -> Vec<Event> {
    let ends = matches!(change, TaskEvent::Completed(_) | TaskEvent::Skipped(_) | TaskEvent::Cancelled(_) | TaskEvent::Failed(_));
    let goes_on = matches!(change, TaskEvent::Unblocked(_));
    let lease = task.lease(&intent.leases).filter(|_| ends || goes_on);
    let lease =
        lease.and_then(|lease| if ends { Some(leases::released(lease, now)) } else { leases::revived(intent, lease, now) });
    lease.into_iter().chain(events([change])).collect()
}

/// Lets an agent hold the task, by a lease.
fn claim(
    intent: &Intent,
    command: &TaskCommand,
    task: &Task,
    named: Option<&String>,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    may_begin(intent, task)?;
    coordinators::may_claim(intent)?;
    let agent_id = named.unwrap_or(&command.agent_id);
    if !by.may_act_for(agent_id) && !intent.is_created_by(by) {
        let reason = "only the agent that created the intent claims tasks for other agents";
        return Err(Rejection::Forbidden { reason: reason.into() }.into());
    }
    let leased = leases::acquire(intent, command.lease_id, agent_id, &task.scope(), task.held_seconds(), now)?;
    // The agent may have taken the lease on this scope before, by a call of its own.
    let lease_id = intent.lease_on(&task.scope(), now).map_or(command.lease_id, |held| held.id);
    let claimed = Claimed { task_id: task.id, agent_id: agent_id.clone(), lease_id, credential: by.credential };
    Ok(leased.into_iter().chain(events([TaskEvent::Claimed(claimed)])).collect())
}

/// Refuses to begin a task of an intent that waits for a person or for other intents, or that has ended, and a task of a plan that is
/// not active.
fn may_begin(intent: &Intent, task: &Task) -> Result<(), Refusal> {
    let plan = intent.plans.iter().find(|plan| Some(plan.id) == task.plan_id);
    if let Some(plan) = plan.filter(|plan| !plan.lets_begin()) {
        return Err(Rejection::PlanNotActive { state: plan.state.as_str().into() }.into());
    }
    match (intent.status, &intent.held_up_by) {
        (Status::SuspendedAwaitingInput, _) => Err(Rejection::IntentSuspended.into()),
        (Status::Blocked, Some(held_up)) => Err(Rejection::InputsSuspended {
            intent_id: intent.id,
            title: held_up.title.clone(),
            suspended_intent_id: held_up.suspended_intent_id,
            resumes_at: held_up.resumes_at,
        }
        .into()),
        (Status::Blocked, None) => Err(Rejection::IntentBlocked.into()),
        (Status::Completed | Status::Abandoned, _) => {
            Err(Rejection::IntentEnded { status: intent.status.as_str().into() }.into())
        }
        (Status::Draft | Status::Active, _) => workflow::may_begin(intent),
    }
}

/// Refuses to change a task that another agent holds. The agent that created the intent may.
fn may_change(intent: &Intent, task: &Task, by: &Principal, now: DateTime<Utc>) -> Result<(), Rejection> {
    let is_anothers = task.assigned_agent.as_ref().is_some_and(|agent_id| !by.may_act_for(agent_id));
    if by.role != Role::Agent || !is_anothers || intent.is_created_by(by) {
        return Ok(());
    }
    match task.lease(&intent.leases).filter(|lease| lease.holds(now, intent.suspended_since())) {
        Some(lease) => Err(Rejection::LeaseConflict { existing: Box::new(lease.clone()) }),
        None => Err(Rejection::Forbidden { reason: "another agent worked on this task last".into() }),
    }
}

fn report(intent: &Intent, task: &Task, progress: &Progress, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    may_change(intent, task, by, now)?;
    if !task.is_held() {
        return Err(Rejection::TaskTransition { from: task.status.as_str().into(), to: "running".into() }.into());
    }
    // The agent is alive, so it holds the task for longer. If its time has just run out, no other agent has the task yet.
    let held = task.lease(&intent.leases).and_then(|lease| leases::revived(intent, lease, now));
    let progressed = Progressed { task_id: task.id, progress: progress.clone(), credential: by.credential };
    Ok(held.into_iter().chain(events([TaskEvent::Progressed(progressed)])).collect())
}

/// Creates a task for a part of the work of another one, which waits for it.
fn delegate(intent: &Intent, task: &Task, part: TaskId, new: &NewTask, by: &Principal) -> Result<Vec<Event>, Refusal> {
    let is_anothers = task.assigned_agent.as_ref().is_some_and(|agent_id| !by.may_act_for(agent_id));
    if is_anothers && !intent.is_created_by(by) {
        return Err(Rejection::Forbidden { reason: "another agent works on this task".into() }.into());
    }
    if task.status != TaskStatus::Running {
        return Err(Rejection::TaskTransition { from: task.status.as_str().into(), to: "blocked".into() }.into());
    }
    let (task_id, credential) = (task.id, by.credential);
    let new = NewTask { parent_task_id: Some(task_id), plan_id: task.plan_id, ..new.clone() };
    let mut all = vec![create(intent, part, &new, by)?];
    all.push(TaskEvent::Delegated(Delegated { task_id, sub_task_id: part, credential }));
    let blocked_reason = DELEGATED.to_owned();
    all.push(TaskEvent::Blocked(Blocked { task_id, blocked_reason, suspended_intent_id: None, credential }));
    Ok(events(all))
}

/// Blocks a task whose agent asks a person how to go on. The question suspends the intent, and the end of the suspension unblocks the task.
pub(super) fn escalated(intent: &Intent, id: TaskId, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    let task = intent.tasks.iter().find(|task| task.id == id).ok_or(Rejection::NotFound)?;
    may_change(intent, task, by, now)?;
    if intent.status == Status::SuspendedAwaitingInput {
        return Err(Rejection::IntentSuspended.into());
    }
    if task.status != TaskStatus::Running {
        return Err(Rejection::TaskTransition { from: task.status.as_str().into(), to: "blocked".into() }.into());
    }
    let (blocked_reason, suspended_intent_id) = (ESCALATED.to_owned(), Some(intent.id));
    let blocked = TaskEvent::Blocked(Blocked { task_id: id, blocked_reason, suspended_intent_id, credential: by.credential });
    Ok(events([blocked]).into_iter().chain(joins(intent, task.plan_id, by)).collect())
}

/// If the agent that holds the task gave no sign of life for too long, makes the task ready for another agent, or lets it fail.
fn look_at_lease(intent: &Intent, task: &Task, now: DateTime<Utc>) -> Vec<Event> {
    let lease = task.lease(&intent.leases);
    if !task.is_held() || lease.is_some_and(|lease| lease.holds(now, intent.suspended_since())) {
        return Vec::new();
    }
    let (task_id, reason) = (task.id, Some(LEASE_EXPIRED.to_owned()));
    if task.attempt < task.max_attempts && !intent.status.is_final() {
        let retrying = Retrying { task_id, attempt: task.attempt + 1, reason, credential: None };
        return events([TaskEvent::Retrying(retrying)]);
    }
    let failed = Failed { task_id, attempt: task.attempt, error: reason, credential: None };
    with_effects(intent, task, TaskEvent::Failed(failed), now)
}
