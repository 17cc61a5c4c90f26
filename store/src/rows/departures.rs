//! For each pair of an agent and a person: when messages of that agent to that person left ("departures"), and the times reserved
//! for messages that would follow the last one too soon ("places", see `min_distance_seconds`).

use chrono::{DateTime, Utc};

use super::error::RowsResult;

/// Writes departures and places, in one transaction.
pub(crate) trait WriteDepartures {
    /// Keeps other servers from deciding about the messages of one agent to one person until the transaction ends; false if
    /// another server is deciding.
    fn take_pair(&mut self, pair: i64) -> RowsResult<bool>;
    /// Records when a message of this pair left.
    fn insert_departure(&mut self, pair: i64, left_at: DateTime<Utc>, outbox: i64) -> RowsResult<()>;
    /// Deletes the departures of a pair before a time.
    fn forget_departures(&mut self, pair: i64, before: DateTime<Utc>) -> RowsResult<()>;
    /// Reserves the time `leaves_at` for a message that would follow the last one too soon. Deletes the reserved times of this
    /// pair that no longer count.
    fn insert_place(&mut self, pair: i64, leaves_at: DateTime<Utc>, outbox: i64, now: DateTime<Utc>) -> RowsResult<()>;
}

/// Reads departures and places, inside a transaction that writes or outside.
pub(crate) trait ReadDepartures {
    /// The times after `after` that are reserved for messages of this pair, earliest first.
    fn places(&mut self, pair: i64, after: DateTime<Utc>, limit: usize) -> RowsResult<Vec<DateTime<Utc>>>;
    /// When messages of a pair left, after `since` and not after `until`, newest first.
    fn departures(
        &mut self,
        pair: i64,
        since: DateTime<Utc>,
        until: DateTime<Utc>,
        limit: usize,
    ) -> RowsResult<Vec<DateTime<Utc>>>;
}
