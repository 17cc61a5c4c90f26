//! Decides about the plans of an intent (RFC-0012).

use std::collections::HashSet;

use crate::base::ids::{SuspensionId, TaskId};
use crate::base::name::is_same;
use crate::container::condition::ConditionBody;
use crate::container::plan::{
    CheckpointBody, CheckpointId, NewPlan, Outline, PLANS_IN_ALL_MAX, PLANS_MAX, Plan, PlanChange, PlanCommand, PlanState,
    PlanStep, Prepared,
};
use crate::container::plan_event::{Created, Moved, PlanEvent, ReviewRequired, Updated};
use crate::container::task::TaskStatus;
use crate::intent::Intent;
use crate::intent::coordinators;
use crate::intent::event::Event;
use crate::intent::refusal::Refusal;
use crate::people::authority::{is_at_one, is_named};
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::Asker;

/// Decides the effect of a command about a plan that the store has loaded.
pub(super) fn decide(intent: &Intent, command: &PlanCommand, by: &Principal) -> Result<Vec<Event>, Refusal> {
    let event = match &command.step {
        PlanStep::Create(new) => create(intent, command, new, by)?,
        PlanStep::Change(wanted) => return Ok(events(change(intent, command, wanted, by)?)),
    };
    Ok(events([event]))
}

fn events(plans: impl IntoIterator<Item = PlanEvent>) -> Vec<Event> {
    plans.into_iter().map(|event| Event::Plan(Box::new(event))).collect()
}

fn create(intent: &Intent, command: &PlanCommand, new: &NewPlan, by: &Principal) -> Result<PlanEvent, Rejection> {
    if intent.status.is_final() {
        return Err(Rejection::IntentEnded { status: intent.status.as_str().into() });
    }
    let unfinished = intent.plans.iter().filter(|plan| !plan.state.is_final()).count();
    if unfinished >= PLANS_MAX || intent.plan_count >= PLANS_IN_ALL_MAX {
        let message = format!("an intent has at most {PLANS_MAX} plans that are not finished, and {PLANS_IN_ALL_MAX} in all");
        return Err(Rejection::invalid("intent_id", "count", message));
    }
    coordinators::may_plan(intent)?;
    let tasks = new.outline.tasks.clone().unwrap_or_default();
    coordinators::may_have_tasks(intent, tasks.len())?;
    may_hold(intent, command, &tasks)?;
    let (checkpoints, questions) = apart(new.outline.checkpoints.clone().unwrap_or_default());
    stand_behind(&checkpoints, &tasks)?;
    let conditions = new.outline.conditions.clone().unwrap_or_default();
    judge_by_what_is_known(intent, &conditions, &tasks)?;
    Ok(PlanEvent::Created(Box::new(Created {
        plan_id: command.id,
        created_by: Asker { name: by.name.clone(), owner: by.owner.clone() },
        tasks,
        checkpoints,
        conditions,
        on_failure: new.on_failure,
        metadata: new.body.metadata.clone(),
        credential: by.credential,
        questions,
        on_failure_question: Some(new.on_failure_question.clone()),
        seed: new.seed,
    })))
}

/// The checkpoints, and their questions.
fn apart(outlined: Vec<(CheckpointBody, Option<Prepared>)>) -> (Vec<CheckpointBody>, Vec<(String, Prepared)>) {
    let questions = outlined.iter().filter_map(|(body, question)| Some((body.id.clone(), question.clone()?))).collect();
    (outlined.into_iter().map(|(body, _)| body).collect(), questions)
}

/// Refuses tasks that the plan may not hold: those that have begun, and those of another plan.
fn may_hold(intent: &Intent, command: &PlanCommand, tasks: &[TaskId]) -> Result<(), Rejection> {
    for id in tasks {
        let Some(task) = intent.tasks.iter().find(|task| task.id == *id) else {
            return Err(Rejection::invalid("tasks", "unknown", "must name tasks of the same intent"));
        };
        let is_free = task.plan_id.is_none_or(|plan| plan == command.id);
        if !is_free || !matches!(task.status, TaskStatus::Pending | TaskStatus::Ready) {
            let message = format!("must be tasks that are pending or ready and in no other plan; {id} is not");
            return Err(Rejection::invalid("tasks", "value", message));
        }
    }
    Ok(())
}

fn stand_behind(checkpoints: &[CheckpointBody], tasks: &[TaskId]) -> Result<(), Rejection> {
    match checkpoints.iter().position(|checkpoint| !tasks.contains(&checkpoint.after_task)) {
        Some(place) => {
            Err(Rejection::invalid(format!("checkpoints[{place}].after_task"), "unknown", "must be one of the tasks of the plan"))
        }
        None => Ok(()),
    }
}

/// Refuses conditions for tasks that are not in the plan, and conditions that read the result of a task for which the conditional task
/// does not wait: that result may come too late, or never.
fn judge_by_what_is_known(intent: &Intent, conditions: &[ConditionBody], tasks: &[TaskId]) -> Result<(), Rejection> {
    for (place, condition) in conditions.iter().enumerate() {
        if !tasks.contains(&condition.task_id) {
            let message = "must be one of the tasks of the plan";
            return Err(Rejection::invalid(format!("conditions[{place}].task_id"), "unknown", message));
        }
        let reads = condition.comparison().map(|comparison| comparison.reads);
        if !reads.is_some_and(|reads| tasks.contains(&reads) && waits_for(intent, condition.task_id, reads)) {
            let message = "must read the output of a task of the plan on which the task depends, directly or through others";
            return Err(Rejection::invalid(format!("conditions[{place}].when"), "order", message));
        }
    }
    Ok(())
}

/// Whether a task depends on another one, directly or through others.
fn waits_for(intent: &Intent, task: TaskId, needed: TaskId) -> bool {
    let (mut seen, mut left) = (HashSet::new(), vec![task]);
    while let Some(at) = left.pop() {
        let on = intent.tasks.iter().find(|task| task.id == at).map_or(&[][..], |task| &task.depends_on);
        if on.contains(&needed) {
            return true;
        }
        left.extend(on.iter().filter(|id| seen.insert(**id)));
    }
    false
}

fn change(intent: &Intent, command: &PlanCommand, wanted: &PlanChange, by: &Principal) -> Result<Vec<PlanEvent>, Rejection> {
    let PlanChange { outline, state, review, .. } = wanted;
    let plan = intent.plans.iter().find(|plan| plan.id == command.id).ok_or(Rejection::NotFound)?;
    if !is_same(&plan.created_by.name, &by.name) && !intent.is_created_by(by) {
        let reason = "only the agent that created the plan, and the one that created the intent, change it";
        return Err(Rejection::Forbidden { reason: reason.into() });
    }
    let updated = update(intent, command, plan, outline, by)?;
    let tasks = outline.tasks.as_ref().unwrap_or(&plan.tasks);
    let moved = state.map(|state| move_to(plan, state, tasks, by)).transpose()?;
    let is_activated = matches!(moved, Some(PlanEvent::Activated(_)));
    if is_activated {
        coordinators::may_have_tasks(intent, tasks.len())?;
    }
    // A plan is activated once, so it is reviewed once.
    let reviewed = (is_activated && intent.reviews_plans())
        .then(|| PlanEvent::ReviewRequired(Box::new(ReviewRequired { plan_id: plan.id, question: review.clone() })));
    Ok(updated.into_iter().chain(moved).chain(reviewed).collect())
}

/// Changes the tasks, checkpoints and conditions of a draft. Afterwards they are fixed: an agent must not remove a checkpoint, or make it
/// less strict, once people rely on it.
fn update(
    intent: &Intent,
    command: &PlanCommand,
    plan: &Plan,
    outline: &Outline,
    by: &Principal,
) -> Result<Option<PlanEvent>, Rejection> {
    if *outline == Outline::default() {
        return Ok(None);
    }
    if plan.state != PlanState::Draft {
        return Err(Rejection::PlanNotDraft { state: plan.state.as_str().into() });
    }
    if let Some(tasks) = &outline.tasks {
        coordinators::may_have_tasks(intent, tasks.len())?;
        may_hold(intent, command, tasks)?;
    }
    let (mut checkpoints, mut questions) = (None, Vec::new());
    if let Some(outlined) = &outline.checkpoints {
        let (bodies, prepared) = apart(outlined.clone());
        (checkpoints, questions) = (Some(bodies), prepared);
    }
    let present: Vec<_> = plan.checkpoints.iter().map(|checkpoint| checkpoint.body.clone()).collect();
    stand_behind(checkpoints.as_ref().unwrap_or(&present), outline.tasks.as_ref().unwrap_or(&plan.tasks))?;
    let present: Vec<_> = plan.conditions.iter().map(|condition| condition.body.clone()).collect();
    let conditions = outline.conditions.clone();
    judge_by_what_is_known(intent, conditions.as_ref().unwrap_or(&present), outline.tasks.as_ref().unwrap_or(&plan.tasks))?;
    let (plan_id, tasks, credential) = (plan.id, outline.tasks.clone(), by.credential);
    Ok(Some(PlanEvent::Updated(Box::new(Updated { plan_id, tasks, checkpoints, conditions, credential, questions }))))
}

fn move_to(plan: &Plan, state: PlanState, tasks: &[TaskId], by: &Principal) -> Result<PlanEvent, Rejection> {
    let waits = !plan.gates.is_empty();
    let moved = Moved { plan_id: plan.id, reason: None, task_id: None, credential: by.credential };
    match (plan.state, state) {
        (PlanState::Draft, PlanState::Active) if tasks.is_empty() => {
            Err(Rejection::invalid("state", "count", "a plan without tasks cannot be activated"))
        }
        (PlanState::Draft, PlanState::Active) => Ok(PlanEvent::Activated(moved)),
        (PlanState::Active, PlanState::Paused) => Ok(PlanEvent::Paused(moved)),
        (PlanState::Paused, PlanState::Active | PlanState::Cancelled) if waits => Err(Rejection::PlanWaits),
        (PlanState::Paused, PlanState::Active) => Ok(PlanEvent::Resumed(moved)),
        (PlanState::Draft | PlanState::Active | PlanState::Paused, PlanState::Cancelled) => Ok(PlanEvent::Cancelled(moved)),
        (from, to) => Err(Rejection::PlanTransition { from: from.as_str().into(), to: to.as_str().into() }),
    }
}

/// Why a checkpoint has no open question that could be answered.
pub(super) fn why_not_open(intent: &Intent, checkpoint: &CheckpointId) -> Rejection {
    let plan = intent.plans.iter().find(|plan| plan.id == checkpoint.plan_id);
    let found = plan.and_then(|plan| plan.checkpoints.iter().find(|found| found.body.id == checkpoint.id));
    found.map_or(Rejection::NotFound, |found| Rejection::CheckpointNotOpen { status: found.status.as_str().into() })
}

/// Refuses the answer to a question about a plan, or about a task, from the keys that work in the plan or on the task, and from keys of
/// their owners.
pub(super) fn may_answer(intent: &Intent, id: SuspensionId, by: &Principal) -> Result<(), Rejection> {
    let is_open = intent.open.as_ref().is_some_and(|open| open.id == id);
    let escalated = intent.tasks.iter().find(|task| is_open && task.is_escalated());
    let is_about = |plan: &&Plan| plan.asks(id) || escalated.is_some_and(|task| task.plan_id == Some(plan.id));
    let plans = || intent.plans.iter().filter(is_about);
    let planned = intent.tasks.iter().filter(|task| plans().any(|plan| plan.tasks.contains(&task.id)));
    let creators = planned.chain(escalated).filter_map(|task| task.created_by.as_ref());
    let works = plans().flat_map(|plan| &plan.workers).chain(creators).any(|worker| is_at_one(by, worker));
    // The owner of an agent that holds a task outside any plan is not known here.
    let holds = escalated.and_then(|task| task.assigned_agent.as_ref()).is_some_and(|agent| is_named(by, agent));
    if works || holds { Err(Rejection::SelfResponse) } else { Ok(()) }
}

/// Refuses that an agent takes back a question about a plan: the plan would go on, or be stuck, without the person.
pub(super) fn may_take_back(intent: &Intent, id: SuspensionId, by: &Principal) -> Result<(), Rejection> {
    if by.role == Role::Agent && intent.plans.iter().any(|plan| plan.asks(id)) {
        let reason = "the question is about a plan, so no agent takes it back; an admin can, and the plan then fails";
        return Err(Rejection::Forbidden { reason: reason.into() });
    }
    Ok(())
}
