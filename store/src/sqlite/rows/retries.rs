//! The repetition of failed work.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;
use domain::intent::retry::Retry;

use super::Writing;
use crate::rows::{ReadRetries, RowsResult, WriteRetries};
use crate::schema::retries;
use crate::sql::{At, Json, Written};

impl WriteRetries for Writing<'_> {
    fn save_retry(&mut self, intent: i64, retry: &Retry, due_at: Option<DateTime<Utc>>) -> RowsResult<()> {
        let row = (retries::facts.eq(Written::of(retry)?), retries::due_at.eq(due_at.map(At)));
        let insert = diesel::insert_into(retries::table).values((retries::intent.eq(intent), row));
        let row = (retries::facts.eq(Written::of(retry)?), retries::due_at.eq(due_at.map(At)));
        insert.on_conflict(retries::intent).do_update().set(row).execute(self.conn)?;
        Ok(())
    }

    fn move_retry(&mut self, intent: i64, due_at: Option<DateTime<Utc>>) -> RowsResult<()> {
        diesel::update(retries::table.find(intent)).set(retries::due_at.eq(due_at.map(At))).execute(self.conn)?;
        Ok(())
    }
}

impl ReadRetries for SqliteConnection {
    fn retry(&mut self, intent: i64) -> RowsResult<Option<Retry>> {
        let facts = retries::table.find(intent).select(retries::facts);
        Ok(facts.first::<Json<Retry>>(self).optional()?.map(|retry| retry.0))
    }

    fn due_retries(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<i64>> {
        let due = retries::table.filter(retries::due_at.le(At(now))).order(retries::due_at);
        Ok(due.limit(i64::from(limit)).select(retries::intent).load(self)?)
    }

    fn next_retry(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        let waiting = retries::table.filter(retries::due_at.is_not_null()).order(retries::due_at);
        let waiting = waiting.select(retries::due_at);
        Ok(waiting.first::<Option<At>>(self).optional()?.flatten().map(|at| at.0))
    }
}
