//! The server's own log, and the row that holds its end.

use chrono::{DateTime, Utc};
use domain::log::{Hash, Sealed};

use super::error::RowsResult;

/// The end of the server's own log.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ServerHead {
    /// The number of its last event; 0 before the first.
    pub(crate) sequence: u64,
    pub(crate) hash: Option<Hash>,
    pub(crate) at: Option<DateTime<Utc>>,
}

/// Writes the log, in one transaction.
pub(crate) trait WriteServerLog {
    /// Returns the end of the log. Other transactions that ask for it wait until this one is over.
    fn lock_server_log(&mut self) -> RowsResult<ServerHead>;
    /// Adds an event, which is the new end.
    fn insert_server_event(
        &mut self,
        sequence: u64,
        event_type: &str,
        created_at: DateTime<Utc>,
        sealed: &Sealed,
    ) -> RowsResult<()>;
}

/// Reads the log, inside a transaction that writes or outside.
pub(crate) trait ReadServerLog {
    /// The events behind number `after`, oldest first.
    fn server_events(&mut self, after: u64, limit: u32) -> RowsResult<Vec<Sealed>>;
    /// The numbers and the types of the events behind number `after`, newest first.
    fn newest_server_events(&mut self, after: i64, limit: u32) -> RowsResult<Vec<(i64, String)>>;
}
