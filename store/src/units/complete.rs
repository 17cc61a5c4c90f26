//! Records the results that workers and bounce reports bring, and makes the messages of vanished workers due again.

use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::Principal;
use domain::problem::Rejection;
use domain::suspension::delivery::{BounceKind, Fate};
use domain::wire::DeliveryView;

use super::backoff::pause;
use super::finish::finish_delivery;
use super::queue::settle;
use super::secret::secret;
use crate::bounce::BOUNCE_SECRET;
use crate::error::Wanted;
use crate::fact::{Attempted, Fact};
use crate::hub::Notice;
use crate::reads::{self, hold, in_portfolios};
use crate::rows::prelude::*;
use crate::rows::{BounceRow, Decided, DeliveryState, RowsError, RowsResult, SuspensionRow};
use crate::sending::{BounceReport, DeliveryResult};
use crate::standing::Hold;
use crate::surroundings::Env;

pub(crate) fn complete_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    rid: i64,
    lease: &[u8; 16],
    result: &DeliveryResult,
) -> RowsResult<bool> {
    let Some((row, _)) = rows.reads().delivery(rid)? else { return Ok(false) };
    // A worker that has lost its lease changes nothing: the message is due again, or another worker has it.
    if row.lease.as_deref() != Some(lease) {
        return Ok(false);
    }
    let suspension = rows.reads().suspension_at(row.suspension)?;
    let suspension = in_portfolios(rows.reads(), suspension)?;
    may_be_told(rows, env, &suspension)?;
    let (fate, detail) = match result {
        DeliveryResult::Retry { .. } if suspension.suspension.ending.is_some() => {
            rows.notice(Notice::Fact(Fact::DeliveryAttempted { channel: row.channel.clone(), result: Attempted::Retry }));
            settle(rows, row, env.clock.now())?;
            return Ok(true);
        }
        DeliveryResult::Sent(reply) => (Fate::Sent, reply),
        DeliveryResult::Retry { reason, after } if let Some(pause) = pause(&row.channel, row.tries, env.entropy) => {
            // If the clock has just jumped ahead, the time of the next try would be computed from a wrong time, and might be
            // hours away.
            if !env.watch.is_steady() {
                return Err(RowsError::Held(Hold::Clock.why()));
            }
            tracing::debug!(delivery.id = %row.id, delivery.tries = row.tries, reason, "delivery will be tried again");
            rows.requeue_outbox(rid, env.clock.now() + after.map_or(pause, |after| after.max(pause)), Some(reason))?;
            rows.notice(Notice::Fact(Fact::DeliveryAttempted { channel: row.channel, result: Attempted::Retry }));
            return Ok(true);
        }
        DeliveryResult::Retry { reason, .. } | DeliveryResult::Failed(reason) => (Fate::Failed, reason),
    };
    let result = if fate == Fate::Sent { Attempted::Sent } else { Attempted::Failed };
    rows.notice(Notice::Fact(Fact::DeliveryAttempted { channel: row.channel.clone(), result }));
    finish_delivery(rows, env, row, &suspension, fate, detail)?;
    Ok(true)
}

/// Refuses to record a result if the question's deadline has passed but deadlines are held back at present, for example after a
/// restore. Until they are released, no one knows whether the result came in time. The worker or gateway that reports the
/// result tries again.
fn may_be_told<R: Rows>(rows: &mut R, env: &Env<'_>, suspension: &SuspensionRow) -> RowsResult<()> {
    let asked = &suspension.suspension;
    if asked.ending.is_some() || !asked.is_expired(env.clock.now()) {
        return Ok(());
    }
    hold(rows.reads(), env.watch)?.map_or(Ok(()), |hold| Err(RowsError::Held(hold.why())))
}

/// Records that a message came back. `NotFound` if the token fits no message, or if the caller is a gateway of another channel.
pub(crate) fn report_bounce<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    report: &Wanted<BounceReport>,
) -> Decided<DeliveryView> {
    if let Err(rejection) = authorize(principal, Action::ReportBounce, Object::Server) {
        return Ok(Err(rejection));
    }
    let report = match report {
        Ok(report) => report,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    let bounce_secret = secret(rows, env, BOUNCE_SECRET)?;
    let found = rows.reads().delivery(report.token.row())?;
    let found = found.filter(|(row, _)| report.token.matches(&bounce_secret, row.id));
    // A gateway may report only on messages of its own channel.
    let found = found.filter(|(row, _)| principal.reports_on(&row.channel));
    let Some((row, state)) = found else { return Ok(Err(Rejection::NotFound)) };
    let (rid, now) = (row.rid, env.clock.now());
    let suspension = rows.reads().suspension_at(row.suspension)?;
    let suspension = in_portfolios(rows.reads(), suspension)?;
    if rows.reads().question(&suspension)?.is_erased() {
        return Ok(Err(Rejection::Redacted));
    }
    may_be_told(rows, env, &suspension)?;
    // A mail server reports again and again that a mail is delayed; a report of that kind does not take a final failure back.
    let before = rows.reads().bounce(rid)?;
    if before.is_none_or(|before| before.kind == BounceKind::Soft) {
        rows.save_bounce(rid, &BounceRow { kind: report.kind, reported_at: now, detail: report.detail.clone() })?;
        rows.notice(Notice::Fact(Fact::BounceReported { kind: report.kind }));
    }
    // A message that is queued for another try can come back, too: an earlier try may have been accepted, with only its reply
    // lost.
    let may_be_lost = matches!(state, DeliveryState::Sent | DeliveryState::Queued);
    if report.kind == BounceKind::Hard && may_be_lost {
        let detail = report.detail.as_deref().unwrap_or("returned without a reason");
        finish_delivery(rows, env, row, &suspension, Fate::Bounced, detail)?;
    }
    let (row, state) = rows.reads().delivery(rid)?.ok_or(RowsError::Inconsistent("a message vanished while it was read"))?;
    Ok(Ok(reads::delivery_view(rows.reads(), suspension.suspension.id, row, state)?))
}

pub(crate) fn release_deliveries<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<u64> {
    rows.release_outbox(env.clock.now())
}
