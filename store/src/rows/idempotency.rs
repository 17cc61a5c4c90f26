//! The outcomes of writes, kept for repeated requests.

use chrono::{DateTime, Utc};

use super::error::RowsResult;
use crate::request::Idempotency;

/// The number of the day in which a time lies, counted from 1970.
pub(crate) fn day(time: DateTime<Utc>) -> i32 {
    i32::try_from(time.timestamp().div_euclid(86_400)).unwrap_or(i32::MAX)
}

/// Writes idempotency records, in one transaction.
pub(crate) trait WriteIdempotency {
    fn insert_idempotent(&mut self, key: Idempotency, now: DateTime<Utc>, outcome: &str) -> RowsResult<()>;
    /// Deletes at most `limit` idempotency records of the days before `day`; returns how many.
    fn forget_idempotent_before(&mut self, day: i32, limit: u32) -> RowsResult<u64>;
}

/// Reads idempotency records, inside a transaction that writes or outside.
pub(crate) trait ReadIdempotency {
    /// The hash of the body that came with a key, and the outcome kept for the key.
    fn idempotent(&mut self, key_hash: &[u8; 32], now: DateTime<Utc>) -> RowsResult<Option<(Vec<u8>, String)>>;
}
