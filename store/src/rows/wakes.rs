//! The outbox of messages that a suspension is over: one row for each endpoint that is told.

use chrono::{DateTime, Utc};

use super::error::RowsResult;

/// A message that a suspension is over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WakePostRow {
    /// The name of the endpoint.
    pub(crate) endpoint: String,
    /// The suspension.
    pub(crate) suspension: i64,
    /// How often it was tried.
    pub(crate) tries: u32,
    /// When it may be tried, or when the lease ends.
    pub(crate) due_at: DateTime<Utc>,
    /// Set while a server sends it.
    pub(crate) lease: Option<[u8; 16]>,
}

/// Writes the messages, in one transaction.
pub(crate) trait WriteWakePosts {
    fn insert_wake_posts(&mut self, suspension: i64, endpoints: &[&str], due_at: DateTime<Utc>) -> RowsResult<()>;
    /// Changes a message if it still has the time of `before`; returns whether it has.
    fn move_wake_post(&mut self, before: &WakePostRow, after: &WakePostRow) -> RowsResult<bool>;
    fn delete_wake_post(&mut self, endpoint: &str, suspension: i64) -> RowsResult<()>;
    /// Deletes messages that have been due since before `time`: no server sends them. Returns how many they were.
    fn delete_wake_posts_before(&mut self, time: DateTime<Utc>, limit: u32) -> RowsResult<u64>;
}

/// Reads the messages, inside a transaction that writes or outside.
pub(crate) trait ReadWakePosts {
    fn wake_post(&mut self, endpoint: &str, suspension: i64) -> RowsResult<Option<WakePostRow>>;
    /// The messages to an endpoint that are due, the one that has been due for longest first.
    fn due_wake_posts(&mut self, endpoint: &str, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<WakePostRow>>;
}
