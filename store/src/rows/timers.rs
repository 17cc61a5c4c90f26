//! Timers, which hold the times at which a suspension ends or its question is asked again.

use chrono::{DateTime, Utc};

use super::codes::TimerKind;
use super::error::RowsResult;

/// A timer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimerRow {
    pub(crate) due_at: DateTime<Utc>,
    pub(crate) suspension: i64,
    pub(crate) kind: TimerKind,
    pub(crate) attempt: u32,
}

/// Writes timers, in one transaction.
pub(crate) trait WriteTimers {
    fn insert_timer(&mut self, timer: TimerRow) -> RowsResult<()>;
    /// Adds the timer for the deadline of a portfolio; two portfolios with one deadline have one timer.
    fn insert_portfolio_timer(&mut self, suspension: i64, due_at: DateTime<Utc>) -> RowsResult<()>;
    fn delete_timer(&mut self, timer: TimerRow) -> RowsResult<()>;
}

/// Reads timers, inside a transaction that writes or outside.
pub(crate) trait ReadTimers {
    fn due_timers(&mut self, now: DateTime<Utc>, limit: u32) -> RowsResult<Vec<TimerRow>>;
    /// Whether a suspension has this timer, at this time or, if it was put off, at another.
    fn has_timer(&mut self, timer: TimerRow) -> RowsResult<bool>;
    fn next_timer(&mut self) -> RowsResult<Option<DateTime<Utc>>>;
}
