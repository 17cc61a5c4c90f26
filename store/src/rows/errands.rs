//! The lists of errands: one row for each intent that ends with its question.

use chrono::{DateTime, Utc};
use domain::intent::fate::Fate;

use super::error::{Decided, RowsResult};

/// An errand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ErrandRow {
    pub(crate) intent: i64,
    /// The name of the key that asked.
    pub(crate) asker: String,
    /// The conversation of the asker's protocol.
    pub(crate) context_id: String,
    pub(crate) fate: Fate,
    /// When the fate changed last.
    pub(crate) changed_at: DateTime<Utc>,
}

/// Which errands are listed, the one that changed last first.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListedErrands<'a> {
    /// Only those of this asker.
    pub(crate) asker: Option<&'a str>,
    /// Only those of this conversation.
    pub(crate) context_id: Option<&'a str>,
    pub(crate) fate: Option<Fate>,
    /// Only those that changed at this time or later.
    pub(crate) since: Option<DateTime<Utc>>,
    /// Only those behind this place.
    pub(crate) before: Option<(DateTime<Utc>, i64)>,
    pub(crate) limit: u32,
}

/// Writes errands, in one transaction.
pub(crate) trait WriteErrands {
    /// Makes an intent an errand.
    fn insert_errand(&mut self, row: &ErrandRow) -> RowsResult<()>;
    fn move_errand(&mut self, intent: i64, fate: Fate, at: DateTime<Utc>) -> RowsResult<()>;
    /// Takes an errand off the list; the asker's words in it are part of the content of the intent.
    fn delete_errand(&mut self, intent: i64) -> RowsResult<()>;
    /// Runs the work, of which nothing stays if the domain refuses it.
    fn whole_or_nothing<T>(&mut self, work: impl FnOnce(&mut Self) -> Decided<T>) -> Decided<T>
    where
        Self: Sized;
}

/// Reads errands, inside a transaction that writes or outside.
pub(crate) trait ReadErrands {
    fn errand(&mut self, intent: i64) -> RowsResult<Option<ErrandRow>>;
    fn errands(&mut self, listed: ListedErrands<'_>) -> RowsResult<Vec<ErrandRow>>;
    /// How many errands there are, wherever the list begins, and at most `limit`.
    fn count_errands(&mut self, listed: ListedErrands<'_>) -> RowsResult<u32>;
}
