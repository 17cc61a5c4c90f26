//! The events that streams carry, in the order in which streams carry them.

use super::error::RowsResult;
use crate::stream::{PublishedRow, StreamCursor};

/// Writes the list of these events, in one transaction.
pub(crate) trait WritePublished {
    /// Adds an event of an intent.
    fn publish(&mut self, event: i64, intent: i64) -> RowsResult<()>;
}

/// Reads the list of these events.
pub(crate) trait ReadPublished {
    /// The end of the list: each event that is committed later comes behind it.
    fn published_end(&mut self) -> RowsResult<StreamCursor>;
    /// The place in the list after which the newest `count` events up to `end` come; the beginning if there are fewer.
    fn published_before(&mut self, end: StreamCursor, count: usize) -> RowsResult<StreamCursor>;
    /// The events behind `after` and not behind `end`, oldest first; `intent` limits the list to one intent.
    fn published(
        &mut self,
        intent: Option<i64>,
        after: StreamCursor,
        end: StreamCursor,
        limit: u32,
    ) -> RowsResult<Vec<PublishedRow>>;
}
