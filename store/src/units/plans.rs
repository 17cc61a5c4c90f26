//! The plans of an intent: the rows that an event about one implies, and the reply to a command about one.

use std::borrow::Cow;

use domain::asking::planning::of_question;
use domain::base::ids::{PlanId, SuspensionId, TaskId};
use domain::base::text::truncated;
use domain::container::plan::{PlanBody, PlanChange, PlanCommand, PlanState, PlanStep};
use domain::container::plan_event::PlanEvent;
use domain::container::task::TaskBody;
use domain::intent::command::{Command, Suspend};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::Asker;
use domain::wire::PlanView;
use serde_json::Value;
use uuid::Uuid;

use super::loaded::Loaded;
use super::tasks;
use crate::assigning;
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsError, RowsResult};
use crate::tasks::at_checkpoints;

/// The longest name of a task, with its capabilities, in the review of a plan, in characters. The names of all tasks of a plan together
/// stay below the limit of a question's context.
const REVIEWED_CHARS_MAX: usize = 120;
const NOT_LOADED: RowsError = RowsError::Inconsistent("an event names a plan that was not loaded");

/// Writes the rows that an event about a plan implies.
pub(super) fn follow<R: Rows>(rows: &mut R, loaded: &Loaded, change: &PlanEvent) -> RowsResult<()> {
    let id = change.plan_id();
    let plan = loaded.intent.plans.iter().find(|plan| plan.id == id).ok_or(NOT_LOADED)?;
    match change {
        PlanEvent::Created(created) => {
            rows.insert_plan(loaded.row.rid, plan, &PlanBody { metadata: created.metadata.clone() })?;
            tasks::save_all(rows, loaded, &created.tasks)
        }
        PlanEvent::Updated(updated) => {
            rows.update_plan(plan)?;
            // Tasks that left the plan are loaded, because all tasks of the plan were.
            if updated.tasks.is_some() {
                let all: Vec<_> = loaded.intent.tasks.iter().map(|task| task.id).collect();
                tasks::save_all(rows, loaded, &all)?;
            }
            Ok(())
        }
        PlanEvent::Activated(_)
        | PlanEvent::Paused(_)
        | PlanEvent::Resumed(_)
        | PlanEvent::Completed(_)
        | PlanEvent::Failed(_)
        | PlanEvent::Cancelled(_)
        | PlanEvent::WorkerJoined(_)
        | PlanEvent::Reached(_)
        | PlanEvent::ConditionDecided(_)
        | PlanEvent::Asked(_)
        | PlanEvent::Approved(_)
        | PlanEvent::Rejected(_)
        | PlanEvent::FailureDecided(_)
        | PlanEvent::ReviewRequired(_)
        | PlanEvent::Reviewed(_) => rows.update_plan(plan),
    }
}

/// Adds the tasks and the conditions to the question whether the tasks of a plan may begin, for the person who reviews the plan. `None` if the command asks
/// no question of this kind.
pub(super) fn with_tasks<R: Rows>(rows: &mut R, loaded: &Loaded, command: &PlanCommand) -> RowsResult<Option<Command>> {
    let PlanStep::Change(change) = &command.step else { return Ok(None) };
    let Some(review) = change.review.as_ref().filter(|_| loaded.intent.reviews_plans()) else { return Ok(None) };
    let planned = loaded.intent.plans.iter().find(|plan| plan.id == command.id).map(|plan| &plan.tasks);
    let mut names = Vec::new();
    for id in change.outline.tasks.as_ref().or(planned).into_iter().flatten() {
        // A task that the intent does not have is refused when the command is decided.
        if loaded.intent.tasks.iter().any(|task| task.id == *id) {
            let TaskBody { name, capabilities_required, .. } = rows.reads().task_body(*id)?;
            let of =
                if capabilities_required.is_empty() { String::new() } else { format!(" ({})", capabilities_required.join(", ")) };
            names.push(Value::from(truncated(&format!("{name}{of}"), REVIEWED_CHARS_MAX)));
        }
    }
    let mut review = review.clone();
    review.question.context.insert("tasks".to_owned(), names.into());
    let conditions = conditions(rows, loaded, command.id, change)?;
    if !conditions.is_empty() {
        review.question.context.insert("conditions".to_owned(), conditions.into());
    }
    let step = PlanStep::Change(Box::new(PlanChange { review: Some(review), ..(**change).clone() }));
    Ok(Some(Command::Plan(Box::new(PlanCommand { id: command.id, step }))))
}

/// The conditions of a plan in words: which task is skipped unless which output of which other task is as it says.
fn conditions<R: Rows>(rows: &mut R, loaded: &Loaded, plan: PlanId, change: &PlanChange) -> RowsResult<Vec<Value>> {
    let planned = loaded.intent.plans.iter().find(|known| known.id == plan);
    let planned = planned.into_iter().flat_map(|plan| &plan.conditions).map(|condition| condition.body.clone()).collect();
    let mut told = Vec::new();
    for condition in change.outline.conditions.clone().unwrap_or(planned) {
        let Some((reads, rest)) = condition.comparison().map(|read| read.reads).zip(condition.when.split_once("].output."))
        else {
            continue;
        };
        let is_known = |id: TaskId| loaded.intent.tasks.iter().any(|task| task.id == id);
        // A task that the intent does not have is refused when the command is decided.
        if is_known(condition.task_id) && is_known(reads) {
            let (task, reads) = (rows.reads().task_body(condition.task_id)?.name, rows.reads().task_body(reads)?.name);
            let told_of = format!("{}: only if {}.{}", short(&task), short(&reads), rest.1);
            told.push(Value::from(truncated(&told_of, 3 * REVIEWED_CHARS_MAX)));
        }
    }
    Ok(told)
}

fn short(name: &str) -> String {
    truncated(name, REVIEWED_CHARS_MAX)
}

/// A plan of the loaded intent, as it is shown.
pub(super) fn shown<R: Rows>(rows: &mut R, loaded: &Loaded, id: PlanId) -> RowsResult<PlanView> {
    let plan = loaded.intent.plans.iter().find(|plan| plan.id == id).ok_or(NOT_LOADED)?;
    let body = rows.reads().plan_body(id)?;
    let tasks: Vec<_> = loaded.intent.tasks.iter().filter(|task| plan.tasks.contains(&task.id)).cloned().collect();
    let waiting = loaded.intent.open.as_ref().map(|open| (open.suspended_at, open.expires_at));
    let asked = at_checkpoints(rows.reads(), &loaded.row, plan)?;
    Ok(PlanView::of(loaded.intent.id, plan.clone(), body, (&tasks, &asked), waiting))
}

/// Completes the questions of a plan with those who are asked, as far as they are assigned to people or keep the owner of the asker from
/// answering. These are the people of now: an agent that plans learns now that a group does not exist, and not when its work stands still.
pub(super) fn asking_assigned<'a, R: Rows>(
    rows: &mut R,
    loaded: &Loaded,
    plan: &PlanCommand,
    by: &Principal,
) -> Decided<Cow<'a, Command>> {
    let asker = Asker { name: by.name.clone(), owner: by.owner.clone() };
    let mut askers = vec![&asker, &loaded.intent.created_by];
    // A plan asks in the name of its creator, whichever agent changes or activates it.
    let known = loaded.intent.plans.iter().find(|known| known.id == plan.id);
    askers.extend(known.map(|known| &known.created_by));
    // A plan is reviewed once: when it becomes active for the first time.
    let is_reviewed = loaded.intent.reviews_plans() && known.is_some_and(|known| known.state == PlanState::Draft);
    let (mut plan, mut broken) = (plan.clone(), Vec::new());
    for (path, prepared) in plan.questions_mut(is_reviewed) {
        let suspend = Suspend::prepared(prepared, SuspensionId(Uuid::nil()));
        match assigning::asking_assigned(rows.reads(), suspend, &askers)? {
            Ok(suspend) => {
                prepared.question = suspend.question;
                prepared.warnings.extend(suspend.warnings);
            }
            Err(Rejection::Invalid { errors }) => broken.extend(errors.into_iter().map(|error| of_question(&path, error))),
            Err(rejection) => return Ok(Err(rejection)),
        }
    }
    Ok(if broken.is_empty() { Ok(Cow::Owned(Command::Plan(Box::new(plan)))) } else { Err(Rejection::Invalid { errors: broken }) })
}
