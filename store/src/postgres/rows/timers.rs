//! Timers, which hold the times at which a suspension ends or its question is asked again.

use chrono::{DateTime, Utc};
use diesel::prelude::*;

use super::Writing;
use crate::columns::{TimerColumns, signed};
use crate::postgres::session::Session;
use crate::postgres::statements as hot;
use crate::rows::{Code, ReadTimers, RowsResult, TimerKind, TimerRow, WriteTimers};
use crate::schema::timers;
use crate::sql::At;

impl WriteTimers for Writing<'_> {
    fn insert_timer(&mut self, timer: TimerRow) -> RowsResult<()> {
        let write = hot::InsertTimer {
            due_at: At(timer.due_at),
            suspension: timer.suspension,
            kind: timer.kind.code(),
            attempt: signed(timer.attempt),
        };
        self.session.later(write, None)
    }

    fn insert_portfolio_timer(&mut self, suspension: i64, due_at: DateTime<Utc>) -> RowsResult<()> {
        let row = (
            timers::due_at.eq(At(due_at)),
            timers::suspension.eq(suspension),
            timers::kind.eq(TimerKind::Portfolio.code()),
            timers::attempt.eq(0),
        );
        let key = (timers::due_at, timers::suspension, timers::kind, timers::attempt);
        // If the row is there already, the update locks it. Another transaction may be about to delete the row, because another
        // portfolio's deadline no longer counts. That transaction then waits for this one, and afterwards sees this portfolio.
        let timer = diesel::insert_into(timers::table).values(row).on_conflict(key).do_update().set(timers::attempt.eq(0));
        timer.execute(self.session.conn()?)?;
        Ok(())
    }

    fn delete_timer(&mut self, timer: TimerRow) -> RowsResult<()> {
        let key = (At(timer.due_at), timer.suspension, timer.kind.code(), signed(timer.attempt));
        diesel::delete(timers::table.find(key)).execute(self.session.conn()?)?;
        Ok(())
    }
}

impl ReadTimers for Session {
    fn due_timers(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<TimerRow>> {
        // A timer that another server has locked just now is left to that server.
        let due = timers::table.filter(timers::due_at.le(At(now))).order(timers::due_at).limit(i64::from(limit));
        let due = due.for_update().skip_locked().select(TimerColumns::selection()).load::<TimerColumns>(self.conn()?)?;
        due.into_iter().map(TimerColumns::into_row).collect()
    }

    fn has_timer(&mut self, timer: TimerRow) -> RowsResult<bool> {
        let (kind, attempt) = (timer.kind.code(), signed(timer.attempt));
        let there = timers::table.find((At(timer.due_at), timer.suspension, kind, attempt));
        if diesel::select(diesel::dsl::exists(there)).get_result(self.conn()?)? {
            return Ok(true);
        }
        // In the rare case that the timer is not stored under the expected time, all timers are searched.
        let elsewhere = timers::table.filter(timers::suspension.eq(timer.suspension)).filter(timers::kind.eq(kind));
        let elsewhere = elsewhere.filter(timers::attempt.eq(attempt));
        // A timer for an earlier deadline of a portfolio counts as well: when it fires, nothing is due, and a timer for this
        // deadline replaces it. A timer for a later deadline would fire too late.
        let earlier = timers::due_at.le(At(timer.due_at)).or(timers::kind.ne(TimerKind::Portfolio.code()));
        let elsewhere = elsewhere.filter(earlier);
        Ok(diesel::select(diesel::dsl::exists(elsewhere)).get_result(self.conn()?)?)
    }

    fn next_timer(&mut self) -> RowsResult<Option<DateTime<Utc>>> {
        Ok(timers::table.select(diesel::dsl::min(timers::due_at)).first::<Option<At>>(self.conn()?)?.map(|at| at.0))
    }
}
