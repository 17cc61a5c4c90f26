//! The messages of a question: queued in the transaction that causes them, and dropped in the one that ends the question.

use chrono::{DateTime, Utc};
use domain::base::ids::DeliveryId;
use domain::suspension::channel::Route;

use crate::fact::{Fact, Settled};
use crate::hub::Notice;
use crate::rows::prelude::*;
use crate::rows::{DeliveryState, OutboxRow, RowsResult, Table};
use crate::surroundings::Env;

/// The messages that one event queues.
pub(super) struct Queueing<'a> {
    pub(super) suspension: i64,
    pub(super) attempt: u32,
    pub(super) routes: Vec<Route<'a>>,
    /// The messages about the suspension that exist already.
    pub(super) known: &'a [(OutboxRow, DeliveryState)],
}

impl Queueing<'_> {
    /// Leaves out every route that has a message of this attempt already: an attempt sends no second message by the same route.
    pub(super) fn leave_out_the_asked(&mut self) {
        let asked: Vec<_> =
            self.known.iter().filter(|(row, _)| row.attempt == self.attempt).map(|(row, _)| row.route()).collect();
        self.routes.retain(|route| !asked.iter().any(|asked| asked.is_same(route)));
    }
}

/// Queues one message per route.
pub(super) fn queue<R: Rows>(rows: &mut R, env: &Env<'_>, queueing: &Queueing<'_>, now: DateTime<Utc>) -> RowsResult<()> {
    // Messages of one suspension are queued only here, one transaction after the other, and never deleted. So their number is the
    // last sequence.
    let known = u32::try_from(queueing.known.len()).unwrap_or(u32::MAX);
    for (sequence, route) in (known.saturating_add(1)..).zip(&queueing.routes) {
        let row = OutboxRow {
            rid: rows.next(Table::Outbox)?,
            id: DeliveryId(env.entropy.uuid(now)),
            suspension: queueing.suspension,
            attempt: queueing.attempt,
            channel: route.channel.to_owned(),
            recipient: route.recipient.to_owned(),
            tries: 0,
            due_at: now,
            lease: None,
            sequence,
            detail: None,
            settled_at: None,
            queued_at: now,
            linked: None,
        };
        rows.insert_outbox(&row)?;
        rows.notice(Notice::Delivery);
        rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel, state: Settled::Queued }));
    }
    Ok(())
}

/// The messages of a question that are still to go out. An older message that a newer one supersedes is not among them.
pub(super) fn waiting(known: &[(OutboxRow, DeliveryState)]) -> Vec<&OutboxRow> {
    let is_superseded = |row: &OutboxRow| known.iter().any(|(newer, state)| supersedes(newer, *state, row));
    known.iter().filter(|(row, state)| *state == DeliveryState::Queued && !is_superseded(row)).map(|(row, _)| row).collect()
}

/// Whether `newer` supersedes `older`. A message that was dropped or could not be sent supersedes none: otherwise a reminder that
/// was dropped because the first message still waits would drop the first message.
pub(super) fn supersedes(newer: &OutboxRow, state: DeliveryState, older: &OutboxRow) -> bool {
    let goes_out = match state {
        DeliveryState::Queued | DeliveryState::Sent | DeliveryState::Bounced => true,
        DeliveryState::Failed | DeliveryState::Obsolete => false,
    };
    goes_out && newer.attempt > older.attempt && newer.route().is_same(&older.route())
}

/// Makes waiting messages due now. A person's request for a reminder justifies a try before the scheduled one.
pub(super) fn requeue<R: Rows>(rows: &mut R, waiting: &[&OutboxRow], now: DateTime<Utc>) -> RowsResult<()> {
    for row in waiting.iter().filter(|row| row.lease.is_none()) {
        if rows.take_outbox(row.rid)? {
            rows.requeue_outbox(row.rid, now, None)?;
            rows.notice(Notice::Delivery);
        }
    }
    Ok(())
}

/// Settles the queued messages of a question that has ended, except those under way. Otherwise a message whose next try is a day
/// away would be listed and counted as waiting for that day.
pub(super) fn settle_waiting<R: Rows>(
    rows: &mut R,
    known: Vec<(OutboxRow, DeliveryState)>,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    for (row, state) in known {
        let is_waiting = state == DeliveryState::Queued && row.lease.is_none();
        if is_waiting && rows.take_outbox(row.rid)? {
            settle(rows, row, now)?;
        }
    }
    Ok(())
}

/// Ends a message whose question has ended. No event is written, because the event that ended the question covers its messages.
pub(super) fn settle<R: Rows>(rows: &mut R, row: OutboxRow, now: DateTime<Utc>) -> RowsResult<()> {
    drop_unsent(rows, row, None, now)
}

/// Ends a message that is not sent, for the reason `why` or, without one, because its question has ended.
pub(super) fn drop_unsent<R: Rows>(rows: &mut R, row: OutboxRow, why: Option<&str>, now: DateTime<Utc>) -> RowsResult<()> {
    rows.finish_outbox(row.rid, DeliveryState::Obsolete, now, why)?;
    rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel, state: Settled::Obsolete }));
    Ok(())
}
