//! Answer links.

use chrono::{DateTime, Utc};
use domain::base::ids::DeliveryId;

use super::error::RowsResult;

/// An answer link's row.
pub(crate) struct TokenRow {
    pub(crate) rid: i64,
    pub(crate) hash: Vec<u8>,
    pub(crate) suspension: i64,
    pub(crate) recipient: String,
    pub(crate) created_at: DateTime<Utc>,
    /// The message that carried the link; absent for links older than this column.
    pub(crate) delivery: Option<DeliveryId>,
}

/// Writes answer links, in one transaction.
pub(crate) trait WriteTokens {
    fn insert_token(&mut self, token: &TokenRow) -> RowsResult<()>;
}

/// Reads answer links, inside a transaction that writes or outside.
pub(crate) trait ReadTokens {
    fn token(&mut self, rid: i64) -> RowsResult<Option<TokenRow>>;
    /// The row of the newest answer link; 0 if there is none.
    fn newest_token(&mut self) -> RowsResult<i64>;
}
