//! The events of the log.

use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::log::Sealed;

use super::error::{RowsError, RowsResult};
use crate::damage::{Damaged, LogName};

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
    /// The event as it is stored, even if it is damaged.
    fn stored_event(&mut self, rid: i64) -> RowsResult<Sealed>;
    /// The intent of an event.
    fn intent_of_event(&mut self, rid: i64) -> RowsResult<IntentId>;
    /// The event, if its bytes give its hash.
    fn event(&mut self, rid: i64) -> RowsResult<Sealed> {
        let sealed = self.stored_event(rid)?;
        if sealed.is_whole() {
            return Ok(sealed);
        }
        // Any member may be the damaged one. So the intent is that of the row, and the number follows that of the event before.
        let log = self.intent_of_event(rid).ok().map(LogName::Intent);
        let sequence = match self.event_link(rid)?.previous {
            None => Some(1),
            Some(previous) => self.stored_event(previous)?.sequence().map(|number| number + 1),
        };
        Err(RowsError::Damaged(Box::new(Damaged::event(log, sequence))))
    }
    /// When the newest event happened.
    fn newest_event_at(&mut self) -> RowsResult<Option<DateTime<Utc>>>;
}

/// Consecutive events of one log, as served. `first` is the number of the first one.
pub(crate) fn served_whole(events: &[Sealed], log: LogName, first: u64) -> RowsResult<Vec<String>> {
    let served = |(number, sealed): (u64, &Sealed)| {
        if sealed.is_whole() {
            return Ok(sealed.served());
        }
        Err(RowsError::Damaged(Box::new(Damaged::event(Some(log), Some(number)))))
    };
    (first..).zip(events).map(served).collect()
}
