//! Announced questions that have not come yet, and the ids that clients gave their questions.

use chrono::{DateTime, Utc};
use domain::intent::announcement::Announcement;

use super::error::RowsResult;

/// Writes announcements and clients' ids, in one transaction.
pub(crate) trait WriteAnnouncements {
    fn insert_announcement(&mut self, intent: i64, announced: &Announcement) -> RowsResult<()>;
    fn delete_announcement(&mut self, intent: i64) -> RowsResult<()>;
    /// Records the id by which the asker's client knows a question.
    fn insert_client_id(&mut self, intent: i64, client_id: &str, suspension: i64) -> RowsResult<()>;
}

/// Reads announcements and clients' ids, inside a transaction that writes or outside.
pub(crate) trait ReadAnnouncements {
    fn announcement(&mut self, intent: i64) -> RowsResult<Option<Announcement>>;
    /// The intents of announcements made up to this time, oldest first.
    fn due_announcements(&mut self, announced_by: DateTime<Utc>, limit: u32) -> RowsResult<Vec<i64>>;
    /// The intents of announcements whose time lies after `now`, because the clock has been set back since, earliest first.
    fn announcements_ahead(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<i64>>;
    /// When the oldest announcement was made.
    fn next_announcement(&mut self) -> RowsResult<Option<DateTime<Utc>>>;
    /// The suspension of an intent that a client knows by this id.
    fn by_client_id(&mut self, intent: i64, client_id: &str) -> RowsResult<Option<i64>>;
}
