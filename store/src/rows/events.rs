//! The events of the log.

use chrono::{DateTime, Utc};
use domain::log::Sealed;

use super::error::RowsResult;

/// An event to append.
pub(crate) struct NewEvent<'a> {
    pub(crate) rid: i64,
    pub(crate) intent: i64,
    pub(crate) previous: Option<i64>,
    pub(crate) event_type: &'a str,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) sealed: &'a Sealed,
}

/// An event's place in its log, without its contents.
pub(crate) struct EventLink {
    pub(crate) event_type: String,
    pub(crate) created_at: DateTime<Utc>,
    pub(crate) previous: Option<i64>,
}

/// Writes events, in one transaction.
pub(crate) trait WriteEvents {
    fn insert_event(&mut self, event: &NewEvent<'_>) -> RowsResult<()>;
}

/// Reads events, inside a transaction that writes or outside.
pub(crate) trait ReadEvents {
    fn event_link(&mut self, rid: i64) -> RowsResult<EventLink>;
    fn event(&mut self, rid: i64) -> RowsResult<Sealed>;
    /// When the newest event happened.
    fn newest_event_at(&mut self) -> RowsResult<Option<DateTime<Utc>>>;
}
