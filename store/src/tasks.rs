//! The reads about tasks and plans: load, authorize, convert.

use chrono::{DateTime, Utc};
use domain::base::ids::{IntentId, PlanId, TaskId};
use domain::container::plan::{Cause, Plan, PlanBody};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::wire::{PlanView, SuspensionRecord, TaskView};

use crate::Wanted;
use crate::filter::TaskFilter;
use crate::reads::{browsable, record};
use crate::rows::prelude::*;
use crate::rows::{Decided, IntentRow, ListedTasks, RowsResult};

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

/// A plan of an intent that the principal may read.
pub(super) fn plan<R: ReadRows>(rows: &mut R, principal: &Principal, id: PlanId, now: DateTime<Utc>) -> Decided<PlanView> {
    let Some((intent, plan)) = rows.plan(id)? else { return Ok(Err(Rejection::NotFound)) };
    let intent_id = rows.intent_at(intent)?.intent.id;
    let row = match browsable(rows, principal, intent_id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let body = rows.plan_body(id)?;
    view(rows, &row, plan, body).map(Ok)
}

/// The plans of an intent that the principal may read, oldest first.
pub(super) fn plans<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    intent_id: IntentId,
    now: DateTime<Utc>,
) -> Decided<Vec<PlanView>> {
    let row = match browsable(rows, principal, intent_id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let found = rows.plans(row.rid)?;
    found.into_iter().map(|(plan, body)| view(rows, &row, plan, body)).collect::<RowsResult<Vec<_>>>().map(Ok)
}

fn view<R: ReadRows>(rows: &mut R, row: &IntentRow, plan: Plan, body: PlanBody) -> RowsResult<PlanView> {
    let tasks = rows.tasks_at_work(row.rid, &plan.tasks)?;
    let tasks: Vec<_> = tasks.into_iter().filter(|task| plan.tasks.contains(&task.id)).collect();
    let mut waiting = None;
    if let Some(open) = row.open_suspension {
        let open = rows.suspension_at(open)?.suspension;
        waiting = Some((open.suspended_at, open.expires_at));
    }
    let asked = at_checkpoints(rows, row, &plan)?;
    Ok(PlanView::of(row.intent.id, plan, body, (&tasks, &asked), waiting))
}

/// The records of the questions at the checkpoints of a plan, as far as these propose an action or several people must agree: the plan alone
/// does not know what people have edited, and who of them still counts.
pub(crate) fn at_checkpoints<R: ReadRows>(rows: &mut R, row: &IntentRow, plan: &Plan) -> RowsResult<Vec<SuspensionRecord>> {
    let mut records = Vec::new();
    for checkpoint in &plan.checkpoints {
        let prepared = plan.prepared(&Cause::Checkpoint(checkpoint.body.id.clone()));
        let is_edited_or_counted = prepared.is_some_and(|asked| asked.question.proposal.is_some() || asked.quorum.is_some());
        let Some(id) = plan.question_of(checkpoint).filter(|_| is_edited_or_counted) else { continue };
        if let Some(asked) = rows.suspension(id)? {
            records.push(record(rows, row, &asked)?);
        }
    }
    Ok(records)
}
