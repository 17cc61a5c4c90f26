//! The forms that people sent before a login.

use chrono::{DateTime, Utc};
use domain::base::ids::PersonId;

use super::error::RowsResult;

/// A form that was kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UnsentRow {
    /// The hash of the cookie of the browser that sent it; empty if its page was made for the person who had logged in.
    pub(crate) browser: Vec<u8>,
    /// The form as the browser sent it.
    pub(crate) form: Vec<u8>,
    pub(crate) kept_at: DateTime<Utc>,
}

/// Writes the forms that are kept, in one transaction.
pub(crate) trait WriteUnsent {
    /// Keeps a form, in place of the one that came from the same browser before.
    fn save_unsent(&mut self, suspension: i64, person: PersonId, row: &UnsentRow) -> RowsResult<()>;
    /// Deletes the forms of a person.
    fn delete_unsent(&mut self, suspension: i64, person: PersonId) -> RowsResult<()>;
    /// Deletes the forms that were kept before this time, at most `limit`.
    fn delete_unsent_before(&mut self, time: DateTime<Utc>, limit: u32) -> RowsResult<u64>;
}

/// Reads the forms that are kept, inside a transaction that writes or outside.
pub(crate) trait ReadUnsent {
    /// The forms of a person, newest first.
    fn unsent(&mut self, suspension: i64, person: PersonId) -> RowsResult<Vec<UnsentRow>>;
}
