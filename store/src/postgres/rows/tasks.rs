//! Tasks of intents.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use domain::base::ids::TaskId;
use domain::container::task::{Task, TaskBody, TaskStatus};

use super::Writing;
use crate::postgres::session::Session;
use crate::rows::{Code, ListedTasks, ReadTasks, RowsError, RowsResult, WriteTasks};
use crate::schema::tasks;
use crate::sql::{At, Json, Key, Written};

impl WriteTasks for Writing<'_> {
    fn insert_task(&mut self, intent: i64, task: &Task, body: &TaskBody) -> RowsResult<()> {
        let row = (
            tasks::id.eq(Key(task.id.0)),
            tasks::intent.eq(intent),
            tasks::status.eq(task.status.code()),
            tasks::facts.eq(Written::of(task)?),
            tasks::body.eq(Written::of(body)?),
        );
        diesel::insert_into(tasks::table).values(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn update_task(&mut self, task: &Task, due_at: Option<DateTime<Utc>>) -> RowsResult<()> {
        let row = (tasks::status.eq(task.status.code()), tasks::facts.eq(Written::of(task)?), tasks::due_at.eq(due_at.map(At)));
        diesel::update(tasks::table.filter(tasks::id.eq(Key(task.id.0)))).set(row).execute(self.session.conn()?)?;
        Ok(())
    }

    fn update_task_body(&mut self, id: TaskId, body: &TaskBody) -> RowsResult<()> {
        let body = tasks::body.eq(Written::of(body)?);
        diesel::update(tasks::table.filter(tasks::id.eq(Key(id.0)))).set(body).execute(self.session.conn()?)?;
        Ok(())
    }

    fn move_task(&mut self, id: TaskId, due_at: Option<DateTime<Utc>>) -> RowsResult<()> {
        let due_at = tasks::due_at.eq(due_at.map(At));
        diesel::update(tasks::table.filter(tasks::id.eq(Key(id.0)))).set(due_at).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadTasks for Session {
    fn task(&mut self, id: TaskId) -> RowsResult<Option<(i64, Task)>> {
        let found = tasks::table.filter(tasks::id.eq(Key(id.0))).select((tasks::intent, tasks::facts));
        let found = found.first::<(i64, Json<Task>)>(self.conn()?).optional()?;
        Ok(found.map(|(intent, task)| (intent, task.0)))
    }

    fn task_body(&mut self, id: TaskId) -> RowsResult<TaskBody> {
        let found = tasks::table.filter(tasks::id.eq(Key(id.0))).select(tasks::body);
        Ok(found.first::<Json<TaskBody>>(self.conn()?)?.0)
    }

    fn tasks_at_work(&mut self, intent: i64, named: &[TaskId]) -> RowsResult<Vec<Task>> {
        let of_intent = tasks::table.filter(tasks::intent.eq(intent));
        let named = tasks::id.eq_any(named.iter().map(|id| Key(id.0)).collect::<Vec<_>>());
        // The codes of the statuses of tasks that are not finished are the lowest ones.
        let wanted = of_intent.filter(tasks::status.le(TaskStatus::Blocked.code()).or(named));
        let wanted = wanted.order(tasks::rid).select(tasks::facts).load::<Json<Task>>(self.conn()?)?;
        Ok(wanted.into_iter().map(|task| task.0).collect())
    }

    fn task_count(&mut self, intent: i64) -> RowsResult<usize> {
        let count = tasks::table.filter(tasks::intent.eq(intent)).count().get_result::<i64>(self.conn()?)?;
        usize::try_from(count).map_err(|_| RowsError::Inconsistent("a negative count"))
    }

    fn tasks(&mut self, listed: ListedTasks) -> RowsResult<Vec<(Task, TaskBody)>> {
        let mut query = tasks::table.filter(tasks::intent.eq(listed.intent)).into_boxed();
        if let Some(status) = listed.status {
            query = query.filter(tasks::status.eq(status.code()));
        }
        let page = query.order(tasks::rid).limit(i64::from(listed.limit)).offset(i64::from(listed.offset));
        let page = page.select((tasks::facts, tasks::body)).load::<(Json<Task>, Json<TaskBody>)>(self.conn()?)?;
        Ok(page.into_iter().map(|(task, body)| (task.0, body.0)).collect())
    }

    fn due_tasks(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<(i64, TaskId)>> {
        let due = tasks::table.filter(tasks::due_at.le(At(now))).order(tasks::due_at).limit(i64::from(limit));
        let due = due.select((tasks::intent, tasks::id)).load::<(i64, Key)>(self.conn()?)?;
        Ok(due.into_iter().map(|(intent, id)| (intent, TaskId(id.0))).collect())
    }

    fn next_task(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        let held = tasks::table.filter(tasks::due_at.is_not_null()).order(tasks::due_at).select(tasks::due_at);
        Ok(held.first::<Option<At>>(self.conn()?).optional()?.flatten().map(|at| at.0))
    }
}
