//! The tasks of an intent: the facts that a command about one needs, and the rows that an event about one implies.

use domain::base::ids::TaskId;
use domain::container::event::TaskEvent;
use domain::container::task::{Task, TaskCommand, TaskStatus, TaskStep};
use domain::intent::command::Command;
use domain::intent::dependency::{BLOCKING_NAMED_MAX, HeldUp};
use domain::intent::status::Status;
use domain::wire::TaskView;

use super::loaded::Loaded;
use crate::hub::Notice;
use crate::reads::in_portfolios;
use crate::request::{Request, Target};
use crate::rows::prelude::*;
use crate::rows::{RowsError, RowsResult};

const NOT_LOADED: RowsError = RowsError::Inconsistent("an event names a task that was not loaded");

/// Loads the tasks that a request is about.
pub(super) fn load_named<R: Rows>(rows: &mut R, loaded: &mut Loaded, request: &Request) -> RowsResult<()> {
    let mut named: Vec<TaskId> = match &request.command {
        Ok(Command::Task(task)) => task.names_tasks(),
        Ok(_) | Err(_) => Vec::new(),
    };
    if let Target::Task(id) = request.target {
        named.push(id);
    }
    if !named.is_empty() {
        loaded.intent.tasks = rows.reads().tasks_at_work(loaded.row.rid, &named)?;
    }
    if let Ok(Command::Task(task)) = &request.command {
        if matches!(task.step, TaskStep::Create(_) | TaskStep::Delegate { .. }) {
            loaded.intent.task_count = rows.reads().task_count(loaded.row.rid)?;
        }
        if begins(task) && loaded.intent.status == Status::Blocked {
            loaded.intent.held_up_by = held_up_by(rows, loaded)?.map(Box::new);
        }
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
        return Ok(None);
    };
    let mut resumes_at = None;
    if let Some(open) = rows.reads().intent(id)?.and_then(|row| row.open_suspension) {
        let open = rows.reads().suspension_at(open)?;
        resumes_at = in_portfolios(rows.reads(), open)?.suspension.ends_at();
    }
    Ok(Some(HeldUp { title: rows.reads().title(loaded.row.rid)?, suspended_intent_id: id, resumes_at }))
}

/// Writes the rows that an event about a task implies.
pub(super) fn follow<R: Rows>(rows: &mut R, loaded: &Loaded, change: &TaskEvent) -> RowsResult<()> {
    let id = change.task_id();
    let tasks = &loaded.intent.tasks;
    let task = tasks.iter().find(|task| task.id == id).ok_or(NOT_LOADED)?;
    if let TaskEvent::Created(created) = change {
        rows.insert_task(loaded.row.rid, task, &created.body())?;
        for needed in tasks.iter().filter(|needed| created.depends_on.contains(&needed.id)) {
            save(rows, loaded, needed)?;
        }
        return Ok(());
    }
    save(rows, loaded, task)?;
    let mut body = rows.reads().task_body(id)?;
    if change.apply_to_body(&mut body) {
        rows.update_task_body(id, &body)?;
    }
    if task.status.is_done() {
        for waiting in tasks.iter().filter(|other| other.depends_on.contains(&id)) {
            save(rows, loaded, waiting)?;
        }
    }
    Ok(())
}

fn save<R: Rows>(rows: &mut R, loaded: &Loaded, task: &Task) -> RowsResult<()> {
    let due_at = task.lease(&loaded.intent.leases).filter(|_| task.is_held()).map(|lease| lease.expires_at);
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
