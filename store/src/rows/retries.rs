//! The repetition of failed work.

use chrono::{DateTime, Utc};
use domain::intent::retry::Retry;

use super::error::RowsResult;

/// Writes the repetition of failed work, in one transaction.
pub(crate) trait WriteRetries {
    /// Writes the repetition of the work on an intent as it is now. `due_at` is the time at which the server takes the next step.
    fn save_retry(&mut self, intent: i64, retry: &Retry, due_at: Option<DateTime<Utc>>) -> RowsResult<()>;
    /// Sets the time at which the server takes the next step.
    fn move_retry(&mut self, intent: i64, due_at: Option<DateTime<Utc>>) -> RowsResult<()>;
}

/// Reads the repetition of failed work, inside a transaction that writes or outside.
pub(crate) trait ReadRetries {
    /// The repetition of the work on an intent.
    fn retry(&mut self, intent: i64) -> RowsResult<Option<Retry>>;
    /// The intents on which the server is to take a step by this time, the earliest first.
    fn due_retries(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<i64>>;
    /// The earliest time at which the server takes a step.
    fn next_retry(&mut self) -> RowsResult<Option<DateTime<Utc>>>;
}
