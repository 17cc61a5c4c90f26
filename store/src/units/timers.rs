//! Due timers, each applied in the transaction that removes it.

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::time::seconds;
use domain::intent::announcement::{RECORD_WITHIN_SECONDS, record_until};
use domain::intent::command::Command;

use super::act::act;
use super::announcements::take_back;
use super::coordinator_leases::look_at_coordinators;
use super::loaded::{Loaded, load_of};
use super::retry_steps::take_steps;
use super::task_leases::look_at_leases;
use super::{graph, presence};
use crate::Fired;
use crate::fact::Fact;
use crate::hub::Notice;
use crate::rows::prelude::*;
use crate::rows::{RowsError, RowsResult, TimerKind, TimerRow};
use crate::surroundings::Env;

/// How many timers one transaction deals with.
pub(crate) const TIMERS_PER_UNIT: u32 = 64;
/// How long a row that cannot be read is put off, in seconds.
pub(super) const PUT_OFF_SECONDS: i64 = 3_600;
/// How long an attempt is put off while the disk has no room for it, in seconds. Putting it off writes a
/// row, so it happens seldom.
const ATTEMPT_PUT_OFF_SECONDS: i64 = 60;

pub(crate) fn fire_deadlines<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<Fired> {
    let (now, turned) = (env.clock.now(), env.watch.since_boot());
    if let Some(fired) = presence::first(rows, env, now)? {
        return Ok(fired);
    }
    let due = rows.reads().due_timers(now, TIMERS_PER_UNIT)?;
    for timer in &due {
        if timer.kind == TimerKind::Attempt && env.allowance.is_short_of_room() {
            // People are asked again once there is room; the attempts missed by then are made up in one message.
            rows.insert_timer(TimerRow { due_at: now + TimeDelta::seconds(ATTEMPT_PUT_OFF_SECONDS), ..*timer })?;
            rows.delete_timer(*timer)?;
            continue;
        }
        match command_of(rows, *timer) {
            Ok(Some((mut loaded, command))) => {
                act(rows, env, &mut loaded, &command, now)?;
                if timer.kind == TimerKind::Portfolio {
                    wait_on(rows, &loaded, *timer, now)?;
                }
                if timer.kind == TimerKind::Deadline {
                    rows.notice(Notice::Fact(Fact::DeadlineApplied { late: now - timer.due_at }));
                }
            }
            Ok(None) => {}
            Err(error) => put_off(rows, *timer, now, error)?,
        }
        rows.delete_timer(*timer)?;
    }
    let announced = rows.reads().due_announcements(now - seconds(RECORD_WITHIN_SECONDS), TIMERS_PER_UNIT)?;
    take_back(rows, env, &announced, now)?;
    let told = graph::tell_the_rest(rows, env, now)?;
    let lost = look_at_leases(rows, env, TIMERS_PER_UNIT, now)? + look_at_coordinators(rows, env, TIMERS_PER_UNIT, now)?;
    let steps = take_steps(rows, env, TIMERS_PER_UNIT, now)?;
    let announced_until = rows.reads().next_announcement()?.map(record_until);
    let next = [
        rows.reads().next_timer()?,
        announced_until,
        rows.reads().next_task()?,
        rows.reads().next_coordinator()?,
        rows.reads().next_retry()?,
    ];
    Ok(Fired { rows: due.len() + announced.len() + told + lost + steps, next_due: next.into_iter().flatten().min(), turned })
}

/// Sets a new timer if the deadline of the portfolio has moved, or if the deadline of another portfolio counts now: the question
/// is then still open, and ends when that deadline is due.
fn wait_on<R: Rows>(rows: &mut R, loaded: &Loaded, timer: TimerRow, now: DateTime<Utc>) -> RowsResult<()> {
    let open = loaded.row.open_suspension == Some(timer.suspension);
    match loaded.intent.portfolio_deadline() {
        Some(deadline) if open && deadline.at > now => rows.insert_portfolio_timer(timer.suspension, deadline.at),
        Some(_) | None => Ok(()),
    }
}

/// The command of a due timer, with its intent; `None` if the suspension has ended. Reads only.
fn command_of<R: Rows>(rows: &mut R, timer: TimerRow) -> RowsResult<Option<(Loaded, Command)>> {
    let row = rows.reads().suspension_at(timer.suspension)?;
    if row.suspension.ending.is_some() {
        return Ok(None);
    }
    let suspension_id = row.suspension.id;
    let command = match timer.kind {
        TimerKind::Attempt => Command::AttemptDue { suspension_id, question: Box::new(rows.reads().question(&row)?) },
        TimerKind::Deadline | TimerKind::Portfolio => {
            // Nothing is done in the name of a question that is damaged.
            rows.reads().event(row.event)?;
            Command::DeadlineReached { suspension_id }
        }
    };
    Ok(Some((load_of(rows, &row)?, command)))
}

/// A timer whose rows cannot be read must not hold up the ones behind it: it is put off, and an error is logged.
fn put_off<R: Rows>(rows: &mut R, timer: TimerRow, now: DateTime<Utc>, error: RowsError) -> RowsResult<()> {
    if !error.is_unreadable() {
        return Err(error);
    }
    tracing::error!(suspension.rid = timer.suspension, "the suspension of a timer cannot be read; trying again in an hour");
    let due_at = now + TimeDelta::seconds(PUT_OFF_SECONDS);
    if timer.kind == TimerKind::Portfolio {
        // The timer of another portfolio may have been put off to the same moment, so this row may exist already.
        return rows.insert_portfolio_timer(timer.suspension, due_at);
    }
    rows.insert_timer(TimerRow { due_at, ..timer })
}
