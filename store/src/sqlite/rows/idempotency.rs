//! The outcomes of writes, kept for repeated requests.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use super::Writing;
use crate::request::Idempotency;
use crate::rows::{ReadIdempotency, RowsResult, WriteIdempotency, day};
use crate::schema::idempotency;
use crate::sql::At;
use crate::sqlite::statements as hot;

/// How long an idempotency record counts, in hours.
const IDEMPOTENCY_HOURS: i64 = 24;

impl WriteIdempotency for Writing<'_> {
    fn insert_idempotent(&mut self, key: Idempotency, now: DateTime<Utc>, outcome: &str) -> RowsResult<()> {
        hot::InsertIdempotent {
            day: &day(now),
            key_hash: &key.key_hash,
            body_hash: &key.body_hash,
            outcome,
            created_at: &At(now),
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn forget_idempotent_before(&mut self, day: i32, limit: u32) -> RowsResult<u64> {
        // The DSL has no limit on a delete from a table without row ids.
        let deleted = diesel::sql_query(
            "DELETE FROM idempotency WHERE (day, key_hash) IN (SELECT day, key_hash FROM idempotency WHERE day < ? LIMIT ?)",
        )
        .bind::<diesel::sql_types::Integer, _>(day)
        .bind::<diesel::sql_types::BigInt, _>(i64::from(limit))
        .execute(self.conn)?;
        Ok(deleted as u64)
    }
}

impl ReadIdempotency for SqliteConnection {
    fn idempotent(&mut self, key_hash: &[u8; 32], now: DateTime<Utc>) -> RowsResult<Option<(Vec<u8>, String)>> {
        let today = day(now);
        let since = At(now - TimeDelta::hours(IDEMPOTENCY_HOURS));
        for day in [today, today - 1] {
            let kept = idempotency::table.find((day, key_hash.as_slice())).filter(idempotency::created_at.gt(since));
            let columns = (idempotency::body_hash, idempotency::outcome);
            if let Some(found) = kept.select(columns).get_result(self).optional()? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }
}
