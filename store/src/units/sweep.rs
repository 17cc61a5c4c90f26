//! A safety net under the timers: an open question that has lost a timer gets it back.
//!
//! Every timer is written in the transaction that makes it needed, and removed in the one that makes it unneeded. So a timer is
//! missing only because of a bug, or because the database was changed by hand. Without this net, a question without its timer
//! would wait for ever, and its agent with it. Mechanism: a reader looks through the open questions a page at a time; only
//! questions that have lost a timer are written, by a unit of work that checks again. Failure: a question that cannot be read or
//! written is left out until the next round, with an error in the log, and keeps no other question from being looked at.
//!
//! The same look finds questions that need more people than could answer them now, because people left after they were asked: more than
//! are left to agree, or any at all.
//! Only an admin can help: by a reassignment, or by people who are listed or come into a group.

use chrono::{DateTime, Utc};
use domain::suspension::Question;

use super::loaded::load_of;
use crate::assigning::out_of_reach;
use crate::fact::Fact;
use crate::hub::Notice;
use crate::reads::in_portfolios;
use crate::rows::prelude::*;
use crate::rows::{RowsResult, SuspensionRow, TimerKind, TimerRow};
use crate::surroundings::Env;
use crate::{StoreError, Swept, Unit};

/// How many questions one read looks at.
pub const QUESTIONS_PER_LOOK: u32 = 500;

/// The result of looking at one page of open questions.
pub(crate) struct Look {
    /// The rows of questions that have lost a timer.
    found: Vec<i64>,
    /// How many questions could not be looked at.
    left_out: u64,
    /// How many questions need more people than could answer them.
    out_of_reach: u64,
    /// The rows of those of them of which no admin was told.
    untold: Vec<i64>,
    /// The row after which the next page begins; absent at the end.
    next: Option<i64>,
}

/// Looks at the open questions after a row.
pub(crate) fn look<R: ReadRows>(rows: &mut R, after: i64, now: DateTime<Utc>) -> RowsResult<Look> {
    let open = rows.open_in(after, i64::MAX, false, QUESTIONS_PER_LOOK)?;
    let next = open.last().copied().filter(|_| open.len() == QUESTIONS_PER_LOOK as usize);
    let mut look = Look { found: Vec::new(), left_out: 0, out_of_reach: 0, untold: Vec::new(), next };
    for rid in open {
        match look_at(rows, rid, now) {
            Ok((missing, reach)) => {
                look.found.extend((!missing.is_empty()).then_some(rid));
                look.out_of_reach += u64::from(reach != Reach::Enough);
                look.untold.extend((reach == Reach::Untold).then_some(rid));
            }
            Err(error) => {
                tracing::error!(
                    suspension.rid = rid,
                    error = %error,
                    "an open question cannot be read, so it is unknown whether it has lost a timer"
                );
                look.left_out += 1;
                // After an error of the database itself, this transaction can read nothing more; the next look
                // goes on behind this question.
                if !error.is_unreadable() {
                    look.next = Some(rid);
                    break;
                }
            }
        }
    }
    Ok(look)
}

/// Mends each question that a look found. A question that cannot be mended does not keep others from being mended.
pub(crate) async fn mend_each<'a>(look: Look, mend: impl Fn(i64) -> Unit<'a, u64>, tell: impl Fn(i64) -> Unit<'a, u64>) -> Swept {
    let Look { found, left_out, out_of_reach, untold, next } = look;
    let mut swept = Swept { mended: 0, left_out, out_of_reach, next };
    for rid in found {
        match mend(rid).await {
            Ok(mended) => swept.mended += mended,
            Err(error) => {
                tracing::error!(
                    suspension.rid = rid,
                    error = %error,
                    "an open question did not get the timer back that it has lost"
                );
                swept.left_out += 1;
                // A store that takes no writes would also refuse to mend each of the other questions.
                if matches!(error, StoreError::Unavailable(_)) {
                    swept.next = Some(rid);
                    break;
                }
            }
        }
    }
    for rid in untold {
        if let Err(error) = tell(rid).await {
            tracing::warn!(suspension.rid = rid, error = %error, "failed to queue the mails to admins about a question");
        }
    }
    swept
}

/// Looks at one open question.
fn look_at<R: ReadRows>(rows: &mut R, rid: i64, now: DateTime<Utc>) -> RowsResult<(Vec<TimerRow>, Reach)> {
    let (row, question) = running(rows, rid, now)?;
    let missing = missing(rows, &row, question.as_ref())?;
    let reach = question.map_or(Ok(Reach::Enough), |question| warned_of_reach(rows, &row, &question))?;
    Ok((missing, reach))
}

/// A question; its text only if its time is not over. A stop has none.
fn running<R: ReadRows>(rows: &mut R, rid: i64, now: DateTime<Utc>) -> RowsResult<(SuspensionRow, Option<Question>)> {
    let row = rows.suspension_at(rid)?;
    let row = in_portfolios(rows, row)?;
    let is_running = row.suspension.ending.is_none() && !row.suspension.is_expired(now) && !row.suspension.kind.is_stop();
    let question = if is_running { Some(rows.question(&row)?) } else { None };
    Ok((row, question))
}

/// Gives a question the timers back that it has lost; returns how many. A timer that is due fires at once.
pub(crate) fn mend<R: Rows>(rows: &mut R, env: &Env<'_>, rid: i64) -> RowsResult<u64> {
    let row = rows.reads().suspension_at(rid)?;
    // Every transaction that writes reads the intent first. On PostgreSQL this locks the intent, so no other transaction mends
    // the same question at the same time.
    load_of(rows, &row)?;
    let (row, question) = running(rows.reads(), rid, env.clock.now())?;
    let missing = missing(rows.reads(), &row, question.as_ref())?;
    for timer in &missing {
        rows.insert_timer(*timer)?;
        let kind = match timer.kind {
            TimerKind::Deadline => "deadline",
            TimerKind::Attempt => "attempt",
            TimerKind::Portfolio => "portfolio",
        };
        tracing::error!(
            suspension.rid = rid,
            timer.kind = kind,
            timer.attempt = timer.attempt,
            "an open question had lost a timer and got it back; this is a bug, or the database was changed by hand"
        );
        rows.notice(Notice::Fact(Fact::TimerMended));
        rows.notice(Notice::Timer);
    }
    Ok(missing.len() as u64)
}

/// Whether enough people could answer a question.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    Enough,
    /// Too few could, and admins were told of it.
    Told,
    /// Too few could, and no admin was told of it.
    Untold,
}

/// Whether an open question needs more people than could answer it now; the server's log then says so, until mails to admins are queued.
fn warned_of_reach<R: ReadRows>(rows: &mut R, row: &SuspensionRow, question: &Question) -> RowsResult<Reach> {
    if out_of_reach(rows, row, question)?.is_none() {
        return Ok(Reach::Enough);
    }
    if rows.is_alerted(row.rid)? {
        return Ok(Reach::Told);
    }
    // The id of the question is left out: a gateway that is tied to no channels can answer each question of which it knows the id.
    tracing::warn!(
        intent.id = %row.suspension.intent_id,
        "a question needs more people than could answer it now; an admin can assign it to others"
    );
    Ok(Reach::Untold)
}

/// The timers that a question should have and does not have.
fn missing<R: ReadRows>(rows: &mut R, row: &SuspensionRow, question: Option<&Question>) -> RowsResult<Vec<TimerRow>> {
    let (suspension, rid) = (&row.suspension, row.rid);
    if suspension.ending.is_some() {
        return Ok(Vec::new());
    }
    let deadline =
        suspension.expires_at.map(|due_at| TimerRow { due_at, suspension: rid, kind: TimerKind::Deadline, attempt: 0 });
    // After the deadline no further attempt is due.
    let policy = question.and_then(|question| question.retry_policy.as_ref());
    let attempt = policy.and_then(|policy| policy.next_due_at(suspension.suspended_at, suspension.attempt));
    let attempt =
        attempt.map(|due_at| TimerRow { due_at, suspension: rid, kind: TimerKind::Attempt, attempt: suspension.attempt + 1 });
    let mut missing = Vec::new();
    let portfolio = suspension.portfolio_deadline.map(|deadline| deadline.at);
    let portfolio = portfolio.map(|due_at| TimerRow { due_at, suspension: rid, kind: TimerKind::Portfolio, attempt: 0 });
    for timer in deadline.into_iter().chain(attempt).chain(portfolio) {
        if !rows.has_timer(timer)? {
            missing.push(timer);
        }
    }
    Ok(missing)
}
