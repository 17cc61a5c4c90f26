//! Timers, which hold the times at which a suspension ends or its question is asked again.

use chrono::{DateTime, Utc};
use diesel::prelude::*;
use diesel::sqlite::SqliteConnection;

use super::Writing;
use crate::columns::{TimerColumns, signed};
use crate::rows::{Code, ReadTimers, RowsResult, TimerKind, TimerRow, WriteTimers};
use crate::schema::timers;
use crate::sql::At;
use crate::sqlite::statements as hot;

impl WriteTimers for Writing<'_> {
    fn insert_timer(&mut self, timer: TimerRow) -> RowsResult<()> {
        hot::InsertTimer {
            due_at: &At(timer.due_at),
            suspension: &timer.suspension,
            kind: &timer.kind.code(),
            attempt: &signed(timer.attempt),
        }
        .execute(self.conn)?;
        Ok(())
    }

    fn insert_portfolio_timer(&mut self, suspension: i64, due_at: DateTime<Utc>) -> RowsResult<()> {
        let row = (
            timers::due_at.eq(At(due_at)),
            timers::suspension.eq(suspension),
            timers::kind.eq(TimerKind::Portfolio.code()),
            timers::attempt.eq(0),
        );
        diesel::insert_into(timers::table).values(row).on_conflict_do_nothing().execute(self.conn)?;
        Ok(())
    }

    fn delete_timer(&mut self, timer: TimerRow) -> RowsResult<()> {
        let key = (At(timer.due_at), timer.suspension, timer.kind.code(), signed(timer.attempt));
        diesel::delete(timers::table.find(key)).execute(self.conn)?;
        Ok(())
    }
}

impl ReadTimers for SqliteConnection {
    fn due_timers(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<TimerRow>> {
        let due = timers::table.filter(timers::due_at.le(At(now))).order(timers::due_at).limit(i64::from(limit));
        due.select(TimerColumns::selection()).load::<TimerColumns>(self)?.into_iter().map(TimerColumns::into_row).collect()
    }

    fn has_timer(&mut self, timer: TimerRow) -> RowsResult<bool> {
        let key = (At(timer.due_at), timer.suspension, timer.kind.code(), signed(timer.attempt));
        if diesel::select(diesel::dsl::exists(timers::table.find(key))).get_result(self)? {
            return Ok(true);
        }
        // In the rare case that the timer is not stored under the expected time, all timers are searched.
        let elsewhere = timers::table.filter(timers::suspension.eq(timer.suspension)).filter(timers::kind.eq(timer.kind.code()));
        let elsewhere = elsewhere.filter(timers::attempt.eq(signed(timer.attempt)));
        // A timer for an earlier deadline of a portfolio counts as well: when it fires, nothing is due, and a timer for this
        // deadline replaces it. A timer for a later deadline would fire too late.
        let earlier = timers::due_at.le(At(timer.due_at)).or(timers::kind.ne(TimerKind::Portfolio.code()));
        let elsewhere = elsewhere.filter(earlier);
        Ok(diesel::select(diesel::dsl::exists(elsewhere)).get_result(self)?)
    }

    fn next_timer(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        Ok(timers::table.select(diesel::dsl::min(timers::due_at)).get_result::<Option<At>>(self)?.map(|at| at.0))
    }
}
