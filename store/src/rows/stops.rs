//! Stops: suspensions that wait for no answer. What they have in common with questions is in the rows of suspensions.

use domain::suspension::Asker;
use domain::suspension::stop::{Provider, Stage};

use super::error::RowsResult;

/// Stands for any provider, in the column of providers.
pub(crate) const ANY: i32 = 0;

/// The open suspension for which an intent waits, in the words of the partial index of it, so that the index serves the query.
pub(crate) const OPEN: &str = "suspensions.resolution IS NULL AND (suspensions.kind < 3 OR suspensions.kind = 6)";
/// The open stops, in the words of the partial index of them.
pub(crate) const OPEN_STOPS: &str = "suspensions.resolution IS NULL AND suspensions.kind IN (1, 2, 6)";

/// Writes stops, in one transaction.
pub(crate) trait WriteStops {
    fn insert_stop(&mut self, suspension: i64, stage: Stage) -> RowsResult<()>;
    fn update_stop(&mut self, suspension: i64, stage: Stage) -> RowsResult<()>;
    /// Notes who has taken a pause over.
    fn pass_stop(&mut self, suspension: i64, to: &Asker) -> RowsResult<()>;
    /// Keeps the keys of the agents that have left the work while it was paused.
    fn note_departed(&mut self, suspension: i64, keys: &[Asker]) -> RowsResult<()>;
    /// Notes that the message with this hash let the intent go on.
    fn note_woken(&mut self, suspension: i64, by: &[u8; 32]) -> RowsResult<()>;
    /// Notes that a parked intent waits for an event; of one provider, or of any.
    fn insert_wake(&mut self, suspension: i64, name: &str, provider: Option<Provider>) -> RowsResult<()>;
    /// Notes that it waits for the event no longer.
    fn delete_wake(&mut self, suspension: i64, name: &str) -> RowsResult<()>;
}

/// Reads stops, inside a transaction that writes or outside.
pub(crate) trait ReadStops {
    /// The row of the open suspension for which an intent waits; for an intent that is blocked, that of its stop.
    fn open_stop(&mut self, intent: i64) -> RowsResult<Option<i64>>;
    /// How far the agent has stopped, and who has taken the pause over.
    fn standing_of(&mut self, suspension: i64) -> RowsResult<(Stage, Option<Asker>)>;
    /// The keys of the agents that have left the work while it was paused.
    fn departed(&mut self, suspension: i64) -> RowsResult<Vec<Asker>>;
    /// The parked intents before row `before` that wait for this event of this provider, newest first.
    fn parked_for(&mut self, name: &str, provider: Provider, before: i64, limit: u32) -> RowsResult<Vec<i64>>;
    /// How many intents the message with this mark let go on.
    fn woken_by(&mut self, message: &[u8; 32]) -> RowsResult<u64>;
    /// The newest suspension by which the work on an intent was ended, or is being ended.
    fn newest_ending(&mut self, intent: i64) -> RowsResult<Option<i64>>;
    /// The newest open stops before row `before`.
    fn newest_stops(&mut self, before: i64, limit: u32) -> RowsResult<Vec<i64>>;
    /// How many stops are open.
    fn open_stops(&mut self) -> RowsResult<i64>;
}
