//! Stops: suspensions that wait for no answer. What they have in common with questions is in the rows of suspensions.

use domain::suspension::stop::Stage;

use super::error::RowsResult;

/// Writes stops, in one transaction.
pub(crate) trait WriteStops {
    fn insert_stop(&mut self, suspension: i64, stage: Stage) -> RowsResult<()>;
    fn update_stop(&mut self, suspension: i64, stage: Stage) -> RowsResult<()>;
}

/// Reads stops, inside a transaction that writes or outside.
pub(crate) trait ReadStops {
    /// The row of the open suspension for which an intent waits; for an intent that is blocked, that of its stop.
    fn open_stop(&mut self, intent: i64) -> RowsResult<Option<i64>>;
    /// How far the agent has stopped.
    fn stage_of(&mut self, suspension: i64) -> RowsResult<Stage>;
    /// How many stops are open.
    fn open_stops(&mut self) -> RowsResult<i64>;
}
