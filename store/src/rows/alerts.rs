//! The mails to admins about questions on which too few people are left to agree.

use chrono::{DateTime, Utc};
use domain::base::ids::PersonId;

use super::error::RowsResult;

/// A mail to an admin about a question; the row stays when the mail was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct AlertRow {
    /// The row of the question.
    pub(crate) suspension: i64,
    /// The admin.
    pub(crate) person: PersonId,
    /// When the mail is sent; absent when nothing more is to be sent.
    pub(crate) due_at: Option<DateTime<Utc>>,
    pub(crate) tries: u32,
    pub(crate) lease: Option<Vec<u8>>,
}

/// Writes alerts, in one transaction.
pub(crate) trait WriteAlerts {
    fn insert_alert(&mut self, alert: &AlertRow) -> RowsResult<()>;
    fn update_alert(&mut self, alert: &AlertRow) -> RowsResult<()>;
    fn delete_alert(&mut self, suspension: i64, person: PersonId) -> RowsResult<()>;
    /// Deletes the alerts about a question that has ended.
    fn delete_alerts(&mut self, suspension: i64) -> RowsResult<()>;
}

/// Reads alerts, inside a transaction that writes or outside.
pub(crate) trait ReadAlerts {
    /// Whether admins were told of this question, or are about to be.
    fn is_alerted(&mut self, suspension: i64) -> RowsResult<bool>;
    fn alert(&mut self, suspension: i64, person: PersonId) -> RowsResult<Option<AlertRow>>;
    /// The alerts that are due first, at most `limit`.
    fn queued_alerts(&mut self, limit: u32) -> RowsResult<Vec<AlertRow>>;
}
