//! Tasks whose agents gave no sign of life for too long, so that the leases by which they hold the tasks have run out.

use chrono::{DateTime, Utc};
use domain::base::ids::{LeaseId, TaskId};
use domain::container::task::{TaskCommand, TaskStep};
use domain::intent::command::Command;

use super::act::act;
use super::loaded::{Loaded, load};
use crate::rows::RowsResult;
use crate::rows::prelude::*;
use crate::surroundings::Env;

/// Looks at tasks whose agents gave no sign of life for too long, as many as one transaction may; returns how many these were.
pub(super) fn look_at_leases<R: Rows>(rows: &mut R, env: &Env<'_>, limit: u32, now: DateTime<Utc>) -> RowsResult<usize> {
    let due = rows.reads().due_tasks(now, limit)?;
    for (intent, id) in &due {
        let loaded = rows.reads().intent_at(*intent).and_then(|row| load(rows, row, None));
        match loaded {
            Ok(mut loaded) => look_at_lease(rows, env, &mut loaded, *id, now)?,
            Err(error) if error.is_unreadable() => {
                tracing::error!(task.id = %id, error = %error, "the intent of a task cannot be read, so its agent keeps the task");
                rows.move_task(*id, None)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(due.len())
}

fn look_at_lease<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &mut Loaded, id: TaskId, now: DateTime<Utc>) -> RowsResult<()> {
    // The server holds no leases, so these two are not used.
    let (agent_id, lease_id) = (String::new(), LeaseId(uuid::Uuid::nil()));
    let look = TaskCommand { id, agent_id, lease_id, step: TaskStep::LookAtLease };
    act(rows, env, loaded, &Command::Task(Box::new(look)), now)?;
    let task = loaded.intent.tasks.iter().find(|task| task.id == id && task.is_held());
    // While the intent waits for a person, no lease runs out, and the end of the suspension sets the time anew.
    let again = task.and_then(|task| Some(task.lease(&loaded.intent.leases)?.expires_at)).filter(|at| *at > now);
    rows.move_task(id, again)
}
