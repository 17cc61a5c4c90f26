//! The reads about tasks: load, authorize, convert.

use chrono::{DateTime, Utc};
use domain::base::ids::{IntentId, TaskId};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::TaskView;

use crate::Wanted;
use crate::filter::TaskFilter;
use crate::reads::browsable;
use crate::rows::prelude::*;
use crate::rows::{Decided, ListedTasks};

/// A task of an intent that the principal may read.
pub(super) fn task<R: ReadRows>(rows: &mut R, principal: &Principal, id: TaskId, now: DateTime<Utc>) -> Decided<TaskView> {
    let Some((intent, task)) = rows.task(id)? else { return Ok(Err(Rejection::NotFound)) };
    let intent_id = rows.intent_at(intent)?.intent.id;
    if let Err(rejection) = browsable(rows, principal, intent_id, now)? {
        return Ok(Err(rejection));
    }
    Ok(Ok(TaskView::of(intent_id, task, rows.task_body(id)?)))
}

/// The tasks of an intent that the principal may read, oldest first.
pub(super) fn tasks<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    intent_id: IntentId,
    filter: Wanted<TaskFilter>,
    now: DateTime<Utc>,
) -> Decided<Vec<TaskView>> {
    let row = match browsable(rows, principal, intent_id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let TaskFilter { status, limit, offset } = match filter {
        Ok(filter) => filter,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let found = rows.tasks(ListedTasks { intent: row.rid, status, limit, offset })?;
    Ok(Ok(found.into_iter().map(|(task, body)| TaskView::of(intent_id, task, body)).collect()))
}
