//! Reads over many questions at once, for the audit pages.

use chrono::{DateTime, Utc};
use domain::log::Sealed;

use super::codes::DeliveryState;
use super::error::RowsResult;

/// A message about a question, as far as it is counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MessageRow {
    pub(crate) suspension: i64,
    pub(crate) attempt: u32,
    pub(crate) recipient: String,
    pub(crate) state: DeliveryState,
}

/// Notes who opened which question.
pub(crate) trait WriteAudit {
    /// Notes when a recipient's link first opened the page of a question. A later note changes nothing.
    fn insert_view(&mut self, suspension: i64, recipient: &str, at: DateTime<Utc>) -> RowsResult<()>;
}

/// Reads over many questions at once.
pub(crate) trait ReadAudit {
    /// The events in these rows, in any order.
    fn events_at(&mut self, rids: &[i64]) -> RowsResult<Vec<(i64, Sealed)>>;
    /// The recipients of the messages about the suspensions in the rows from `first` to `last`, each once for a suspension.
    fn asked_in(&mut self, first: i64, last: i64) -> RowsResult<Vec<(i64, String)>>;
    /// The messages about the suspensions in the rows from `first` to `last`: each recipient once for an attempt and a state.
    fn messages_in(&mut self, first: i64, last: i64) -> RowsResult<Vec<MessageRow>>;
    /// When the links of recipients first opened the questions in the rows from `first` to `last`.
    fn views_in(&mut self, first: i64, last: i64) -> RowsResult<Vec<(i64, String, DateTime<Utc>)>>;
    /// Whether the link of this recipient has opened the question.
    fn is_viewed(&mut self, suspension: i64, recipient: &str) -> RowsResult<bool>;
}
