//! When messages of one agent to one person left, and the places of those that keep their distance.

use chrono::{DateTime, Utc};

use super::error::RowsResult;

/// Writes them, in one transaction.
pub(crate) trait WriteDepartures {
    /// Keeps other servers, until the transaction ends, from deciding about the messages of one agent to one person; false if one does.
    fn take_pair(&mut self, pair: i64) -> RowsResult<bool>;
    /// Keeps when a message of one agent to one person left.
    fn insert_departure(&mut self, pair: i64, left_at: DateTime<Utc>, outbox: i64) -> RowsResult<()>;
    /// Forgets those before a time.
    fn forget_departures(&mut self, pair: i64, before: DateTime<Utc>) -> RowsResult<()>;
    /// Gives a message that keeps its distance a place of its own; those of this pair that count no more are forgotten.
    fn insert_place(&mut self, pair: i64, leaves_at: DateTime<Utc>, outbox: i64, now: DateTime<Utc>) -> RowsResult<()>;
}

/// Reads them, inside a transaction that writes or outside.
pub(crate) trait ReadDepartures {
    /// When messages of one agent to one person are to leave that keep their distance, after a time, the next one first.
    fn places(&mut self, pair: i64, after: DateTime<Utc>, limit: usize) -> RowsResult<Vec<DateTime<Utc>>>;
    /// When messages of one agent to one person left, after a time and not after another, newest first.
    fn departures(
        &mut self,
        pair: i64,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
        limit: usize,
    ) -> RowsResult<Vec<DateTime<Utc>>>;
}
