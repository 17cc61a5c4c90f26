//! The outcomes of writes, kept for repeated requests.

use chrono::{DateTime, TimeDelta, Utc};
use diesel::prelude::*;

use super::Writing;
use crate::postgres::key_lock::{IDEMPOTENCY_HOURS, lock_of};
use crate::postgres::session::{Mode, Session};
use crate::postgres::statements as hot;
use crate::request::Idempotency;
use crate::rows::{ReadIdempotency, RowsResult, WriteIdempotency, day};
use crate::schema::idempotency;
use crate::sql::At;

impl WriteIdempotency for Writing<'_> {
    fn insert_idempotent(&mut self, key: Idempotency, now: DateTime<Utc>, outcome: &str) -> RowsResult<()> {
        let write = hot::InsertIdempotent {
            day: day(now),
            key_hash: key.key_hash.to_vec(),
            body_hash: key.body_hash.to_vec(),
            outcome: outcome.to_owned(),
            created_at: At(now),
            counting_since: At(now - TimeDelta::hours(IDEMPOTENCY_HOURS)),
        };
        self.session.later(write, Some("another request with the same key was first"))
    }

    fn forget_idempotent_before(&mut self, day: i32, limit: u32) -> RowsResult<u64> {
        Ok(hot::ForgetIdempotent { day, limit: i64::from(limit) }.execute(self.session.conn()?)? as u64)
    }
}

impl ReadIdempotency for Session {
    fn idempotent(&mut self, key_hash: &[u8; 32], now: DateTime<Utc>) -> RowsResult<Option<(Vec<u8>, String)>> {
        if let Some(kept) = self.prefetched.outcomes(key_hash, now) {
            return Ok(kept.into_iter().next());
        }
        let today = day(now);
        let since = now - TimeDelta::hours(IDEMPOTENCY_HOURS);
        // The record may be of the next day: the transaction that held the key's lock may have begun after this one.
        let kept = idempotency::table.filter(idempotency::day.eq_any([today + 1, today, today - 1]));
        let kept = kept.filter(idempotency::key_hash.eq(key_hash.as_slice())).filter(idempotency::created_at.gt(At(since)));
        let columns = (idempotency::body_hash, idempotency::outcome);
        let kept = kept.select(columns).order(idempotency::day.desc());
        if self.mode == Mode::Snapshot {
            return Ok(kept.first(self.conn()?).optional()?);
        }
        // The key is locked even if the intent is locked already. Two requests may use one key for two intents; without this lock
        // the later insert would wait for the other transaction, even in a group, which must never wait. Around midnight a key
        // may stand under two days, and the newer record counts.
        self.behind(hot::LockKey { hash: lock_of(key_hash) }, kept.limit(1))
    }
}
