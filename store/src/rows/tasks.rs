//! Tasks of intents.

use chrono::{DateTime, Utc};
use domain::base::ids::TaskId;
use domain::container::task::{Task, TaskBody, TaskStatus};

use super::error::RowsResult;

/// Which tasks of an intent to list, oldest first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedTasks {
    pub(crate) intent: i64,
    pub(crate) status: Option<TaskStatus>,
    pub(crate) limit: u32,
    pub(crate) offset: u32,
}

/// Writes tasks, in one transaction.
pub(crate) trait WriteTasks {
    fn insert_task(&mut self, intent: i64, task: &Task, body: &TaskBody) -> RowsResult<()>;
    /// Writes a task as it is now. `due_at` is the time at which its agent loses it without a sign of life.
    fn update_task(&mut self, task: &Task, due_at: Option<DateTime<Utc>>) -> RowsResult<()>;
    fn update_task_body(&mut self, id: TaskId, body: &TaskBody) -> RowsResult<()>;
    /// Sets the time at which the agent of a task loses it without a sign of life.
    fn move_task(&mut self, id: TaskId, due_at: Option<DateTime<Utc>>) -> RowsResult<()>;
}

/// Reads tasks, inside a transaction that writes or outside.
pub(crate) trait ReadTasks {
    /// A task, with the row of its intent.
    fn task(&mut self, id: TaskId) -> RowsResult<Option<(i64, Task)>>;
    fn task_body(&mut self, id: TaskId) -> RowsResult<TaskBody>;
    /// The tasks of an intent that are not finished, and those of these ids, oldest first.
    fn tasks_at_work(&mut self, intent: i64, named: &[TaskId]) -> RowsResult<Vec<Task>>;
    /// How many tasks an intent has.
    fn task_count(&mut self, intent: i64) -> RowsResult<usize>;
    fn tasks(&mut self, listed: ListedTasks) -> RowsResult<Vec<(Task, TaskBody)>>;
    /// The tasks whose agents have lost them by this time, the earliest first, each with the row of its intent.
    fn due_tasks(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<(i64, TaskId)>>;
    /// The earliest time at which an agent loses a task.
    fn next_task(&mut self) -> RowsResult<Option<DateTime<Utc>>>;
}
