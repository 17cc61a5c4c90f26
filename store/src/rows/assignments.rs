//! Agents that work on an intent beside its creator.

use super::error::RowsResult;
use super::intents::IntentRow;
use crate::filter::IntentFilter;

/// Writes assignments, in one transaction.
pub(crate) trait WriteAssignments {
    /// Records that `event` assigned this agent, in place of an earlier assignment.
    fn save_assignment(&mut self, intent: i64, agent_id: &str, event: i64) -> RowsResult<()>;
    fn delete_assignment(&mut self, intent: i64, agent_id: &str) -> RowsResult<()>;
}

/// Reads assignments, inside a transaction that writes or outside.
pub(crate) trait ReadAssignments {
    /// The agents that are assigned to an intent, in alphabetical order.
    fn assigned(&mut self, intent: i64) -> RowsResult<Vec<String>>;
    /// The event that assigned this agent.
    fn assigning_event(&mut self, intent: i64, agent_id: &str) -> RowsResult<Option<i64>>;
    /// Lists the intents to which an agent of one of these names is assigned, newest first; one may be listed twice.
    fn assigned_intents(&mut self, names: &[String], filter: &IntentFilter) -> RowsResult<Vec<IntentRow>>;
}
