//! The drafts of answers that people share.

use chrono::{DateTime, Utc};
use domain::suspension::draft::Draft;

use super::error::RowsResult;

/// A draft.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DraftRow {
    /// The address of its author, in small letters.
    pub(crate) person: String,
    /// Its texts, as JSON.
    pub(crate) texts: Vec<u8>,
    pub(crate) saved_at: DateTime<Utc>,
}

impl DraftRow {
    /// The draft, as it was typed.
    pub(crate) fn read(self) -> RowsResult<Draft> {
        Ok(Draft { by: self.person, at: self.saved_at, values: serde_json::from_slice(&self.texts)? })
    }
}

/// Writes drafts, in one transaction.
pub(crate) trait WriteDrafts {
    /// Saves a draft, in place of the one that its author saved before.
    fn save_draft(&mut self, suspension: i64, row: &DraftRow) -> RowsResult<()>;
    fn delete_draft(&mut self, suspension: i64, person: &str) -> RowsResult<()>;
    /// Deletes all drafts of a question.
    fn delete_drafts(&mut self, suspension: i64) -> RowsResult<()>;
}

/// Reads drafts, inside a transaction that writes or outside.
pub(crate) trait ReadDrafts {
    /// The drafts of a question, oldest first.
    fn drafts(&mut self, suspension: i64) -> RowsResult<Vec<DraftRow>>;
}
