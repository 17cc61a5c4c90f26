//! The tasks of an intent: the facts that a command about one needs, and the rows that an event about one implies.

use domain::base::ids::TaskId;
use domain::container::event::TaskEvent;
use domain::container::task::{Task, TaskCommand, TaskStatus, TaskStep};
use domain::intent::command::Command;
use domain::intent::dependency::{BLOCKING_NAMED_MAX, HeldUp};
use domain::intent::status::Status;
use domain::wire::TaskView;

use super::holding_up;
use super::loaded::{Loaded, plans};
use crate::hub::Notice;
use crate::request::{Request, Target};
use crate::rows::prelude::*;
use crate::rows::{RowsError, RowsResult};

const NOT_LOADED: RowsError = RowsError::Inconsistent("an event names a task that was not loaded");

/// Loads the tasks and the plan that a request is about.
pub(super) fn load_named<R: Rows>(rows: &mut R, loaded: &mut Loaded, request: &Request) -> RowsResult<()> {
    let (mut named, mut plan) = (Vec::new(), None);
    match request.target {
        // The plan of a task that has ended may have ended, too, and then says that the task begins no more.
        Target::Task(id) => {
            named.push(id);
            plan = rows.reads().task(id)?.and_then(|(_, task)| task.plan_id);
        }
        Target::Plan(id) => plan = Some(id),
        Target::Intent(_) | Target::Suspension(_) | Target::Coordinator(_) => {}
    }
    match &request.command {
        Ok(Command::Task(task)) => named.extend(task.names_tasks()),
        Ok(Command::Plan(plan)) => named.extend(plan.names_tasks()),
        Ok(_) | Err(_) => {}
    }
    if let Some(id) = plan {
        loaded.intent.plans = plans(rows, loaded.row.rid, Some(id))?;
    }
    if plan.is_some() || !named.is_empty() {
        named.extend(loaded.intent.plans.iter().flat_map(|plan| plan.tasks.iter().copied()));
        loaded.intent.tasks = rows.reads().tasks_at_work(loaded.row.rid, &named)?;
    }
    match &request.command {
        Ok(Command::Task(task)) => load_for_task(rows, loaded, task),
        Ok(Command::Plan(_)) => {
            loaded.intent.plan_count = rows.reads().plan_count(loaded.row.rid)?;
            Ok(())
        }
        Ok(Command::Coordinate(_)) => {
            loaded.intent.coordinator_count = rows.reads().coordinator_count(loaded.row.rid)?;
            Ok(())
        }
        Ok(_) | Err(_) => Ok(()),
    }
}

/// Loads the facts that only some commands about a task need.
fn load_for_task<R: Rows>(rows: &mut R, loaded: &mut Loaded, task: &TaskCommand) -> RowsResult<()> {
    if matches!(task.step, TaskStep::Create(_) | TaskStep::Delegate { .. }) {
        loaded.intent.task_count = rows.reads().task_count(loaded.row.rid)?;
    }
    if begins(task) && loaded.intent.status == Status::Blocked {
        loaded.intent.held_up_by = held_up_by(rows, loaded)?.map(Box::new);
    }
    Ok(())
}

/// Whether the command begins the work on a task.
pub(super) fn begins(task: &TaskCommand) -> bool {
    let TaskStep::Change(change) = &task.step else { return false };
    matches!(change.status, TaskStatus::Claimed | TaskStatus::Running)
}

/// The dependency of the intent that waits for a person.
fn held_up_by<R: Rows>(rows: &mut R, loaded: &Loaded) -> RowsResult<Option<HeldUp>> {
    let limit = u32::try_from(BLOCKING_NAMED_MAX).unwrap_or(u32::MAX);
    let unfinished = rows.reads().unfinished(loaded.row.rid, false, limit)?;
    let Some((id, _)) = unfinished.into_iter().find(|(_, status)| *status == Status::SuspendedAwaitingInput) else {
        return holding_up::holding_up(rows, loaded);
    };
    match rows.reads().intent(id)? {
        Some(row) => holding_up::held_up_by(rows, loaded, &row).map(Some),
        None => Ok(None),
    }
}

/// Writes the rows that an event about a task implies.
pub(super) fn follow<R: Rows>(rows: &mut R, loaded: &Loaded, change: &TaskEvent) -> RowsResult<()> {
    let id = change.task_id();
    let tasks = &loaded.intent.tasks;
    let task = tasks.iter().find(|task| task.id == id).ok_or(NOT_LOADED)?;
    // A new task may be in a plan.
    if let TaskEvent::Created(_) = change
        && let Some(plan) = loaded.intent.plans.iter().find(|plan| Some(plan.id) == task.plan_id)
    {
        rows.update_plan(plan)?;
    }
    if let TaskEvent::Created(created) = change {
        rows.insert_task(loaded.row.rid, task, &created.body())?;
        for needed in tasks.iter().filter(|needed| created.depends_on.contains(&needed.id)) {
            save(rows, loaded, needed)?;
        }
        return Ok(());
    }
    save(rows, loaded, task)?;
    if change.changes_body() {
        let mut body = rows.reads().task_body(id)?;
        change.apply_to_body(&mut body);
        rows.update_task_body(id, &body)?;
    }
    if task.status.is_done() {
        for waiting in tasks.iter().filter(|other| other.depends_on.contains(&id)) {
            save(rows, loaded, waiting)?;
        }
    }
    Ok(())
}

/// Writes these tasks as they are now.
pub(super) fn save_all<R: Rows>(rows: &mut R, loaded: &Loaded, ids: &[TaskId]) -> RowsResult<()> {
    for task in loaded.intent.tasks.iter().filter(|task| ids.contains(&task.id)) {
        save(rows, loaded, task)?;
    }
    Ok(())
}

/// Sets the time at which the server looks at the tasks that agents hold, after a suspension of their intent has ended.
pub(super) fn outlive<R: Rows>(rows: &mut R, loaded: &Loaded) -> RowsResult<()> {
    for task in loaded.intent.tasks.iter().filter(|task| task.is_held()) {
        save(rows, loaded, task)?;
    }
    Ok(())
}

fn save<R: Rows>(rows: &mut R, loaded: &Loaded, task: &Task) -> RowsResult<()> {
    // If the lease was given back although the agent holds the task, the deadline loop looks at the task at once.
    let lease = task.lease(&loaded.intent.leases).map_or(loaded.intent.updated_at, |lease| lease.expires_at);
    let due_at = task.is_held().then_some(lease);
    rows.update_task(task, due_at)?;
    if due_at.is_some() {
        rows.notice(Notice::Timer);
    }
    Ok(())
}

/// The reply to a command about a task: the task, or the new one for the part of its work that is delegated.
pub(super) fn shown<R: Rows>(rows: &mut R, loaded: &Loaded, command: &TaskCommand) -> RowsResult<TaskView> {
    let id = if let TaskStep::Delegate { id, .. } = &command.step { *id } else { command.id };
    let task = loaded.intent.tasks.iter().find(|task| task.id == id).ok_or(NOT_LOADED)?;
    Ok(TaskView::of(loaded.intent.id, task.clone(), rows.reads().task_body(id)?))
}
