//! The messages of a question: queued with their cause, dropped with its end.

use chrono::{DateTime, Utc};
use domain::base::ids::DeliveryId;
use domain::base::planted::{Bug, planted};
use domain::suspension::channel::Route;

use crate::fact::{Fact, Settled};
use crate::hub::Notice;
use crate::rows::prelude::*;
use crate::rows::{DeliveryState, OutboxRow, RowsResult, Table};
use crate::surroundings::Env;

/// What one event queues messages for.
pub(super) struct Queueing<'a> {
    pub(super) suspension: i64,
    pub(super) attempt: u32,
    pub(super) routes: Vec<Route<'a>>,
    /// The messages about the suspension there are.
    pub(super) known: &'a [(OutboxRow, DeliveryState)],
}

impl Queueing<'_> {
    /// Leaves out whoever has a message of this attempt already: nobody is asked twice at one, by whichever way they came to be asked.
    pub(super) fn leave_out_the_asked(&mut self) {
        let asked: Vec<_> =
            self.known.iter().filter(|(row, _)| row.attempt == self.attempt).map(|(row, _)| row.route()).collect();
        self.routes.retain(|route| !asked.iter().any(|asked| asked.is_same(route)));
    }
}

/// Queues one message per route.
pub(super) fn queue<R: Rows>(rows: &mut R, env: &Env<'_>, queueing: &Queueing<'_>, now: DateTime<Utc>) -> RowsResult<()> {
    // Messages of one suspension are written here alone, one after the other, and never deleted.
    let known = u32::try_from(queueing.known.len()).unwrap_or(u32::MAX);
    for (sequence, route) in (known.saturating_add(1)..).zip(&queueing.routes) {
        if planted(Bug::LastPersonUntold) && queueing.routes.len() > 1 && Some(route) == queueing.routes.last() {
            break;
        }
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

/// The messages of a question that are still to go out: an older one that a newer took the place of is not, whatever its row says.
pub(super) fn waiting(known: &[(OutboxRow, DeliveryState)]) -> Vec<&OutboxRow> {
    let is_superseded = |row: &OutboxRow| known.iter().any(|(newer, state)| supersedes(newer, *state, row));
    known.iter().filter(|(row, state)| *state == DeliveryState::Queued && !is_superseded(row)).map(|(row, _)| row).collect()
}

/// Whether the one takes the place of the other. A message that was dropped, or could not be sent, takes no place: if it did, a reminder that
/// was dropped because the question itself waits would drop the question.
pub(super) fn supersedes(newer: &OutboxRow, state: DeliveryState, older: &OutboxRow) -> bool {
    let goes_out = match state {
        DeliveryState::Queued | DeliveryState::Sent | DeliveryState::Bounced => true,
        DeliveryState::Failed | DeliveryState::Obsolete => false,
    };
    goes_out && newer.attempt > older.attempt && newer.route().is_same(&older.route())
}

/// Makes those of them due that wait for another try. A person who asks for a reminder is worth a try that an endpoint did not expect yet.
pub(super) fn requeue<R: Rows>(rows: &mut R, waiting: &[&OutboxRow], now: DateTime<Utc>) -> RowsResult<()> {
    for row in waiting.iter().filter(|row| row.lease.is_none()) {
        if rows.take_outbox(row.rid)? {
            rows.requeue_outbox(row.rid, now, None)?;
            rows.notice(Notice::Delivery);
        }
    }
    Ok(())
}

/// Settles those messages of a question that has ended that nobody has under way: one that waits a day for its next try would be
/// listed and counted as waiting for so long.
pub(super) fn settle_waiting<R: Rows>(
    rows: &mut R,
    known: Vec<(OutboxRow, DeliveryState)>,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    for (row, state) in known {
        let is_waiting = state == DeliveryState::Queued && row.lease.is_none() && !planted(Bug::EndedQuestionSent);
        if is_waiting && rows.take_outbox(row.rid)? {
            settle(rows, row, now)?;
        }
    }
    Ok(())
}

/// Ends a message whose question has ended. It has no event, because the ending of the question says it for all messages at once.
pub(super) fn settle<R: Rows>(rows: &mut R, row: OutboxRow, now: DateTime<Utc>) -> RowsResult<()> {
    drop_unsent(rows, row, None, now)
}

/// Ends a message that is not sent, because of what is said in `why` or, without that, because its question has ended.
pub(super) fn drop_unsent<R: Rows>(rows: &mut R, row: OutboxRow, why: Option<&str>, now: DateTime<Utc>) -> RowsResult<()> {
    rows.finish_outbox(row.rid, DeliveryState::Obsolete, now, why)?;
    rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel, state: Settled::Obsolete }));
    Ok(())
}
