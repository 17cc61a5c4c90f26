//! Messages: queued with their cause, leased to one worker, completed by the lease's token.

use chrono::{DateTime, TimeDelta, Utc};
use domain::command::Command;
use domain::event::Delivery;
use domain::ids::DeliveryId;
use domain::planted::{Bug, planted};
use domain::suspension::Question;

use super::timers::PUT_OFF_SECONDS;
use super::{Env, act, load_of, presence};
use crate::store::codes::DeliveryState;
use crate::store::fact::{Attempted, Fact, Settled};
use crate::store::hub::Notice;
use crate::store::link::LinkToken;
use crate::store::rows::{OutboxRow, ReadRows, Rows, RowsError, RowsResult, SuspensionRow, Table, TokenRow};
use crate::store::{DeliveryResult, Leased, LeasedDelivery};

/// Messages leased in one transaction.
pub(in crate::store) const DELIVERIES_PER_UNIT: u32 = 16;
/// How long a worker may take to send one message before another may try, in seconds.
pub(in crate::store) const DELIVERY_LEASE_SECONDS: i64 = 120;
/// After how many tries a message counts as failed.
pub(in crate::store) const DELIVERY_TRIES_MAX: u32 = 100;
/// The longest pause between two tries, in seconds.
pub(in crate::store) const DELIVERY_BACKOFF_SECONDS_MAX: i64 = 1_800;

/// Queues one message per recipient. (Which channel a recipient is reached by is decided when there is more than one.)
pub(super) fn queue<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    suspension: i64,
    attempt: u32,
    recipients: &[String],
    now: DateTime<Utc>,
) -> RowsResult<()> {
    let untold = usize::from(planted(Bug::LastPersonUntold) && recipients.len() > 1);
    for recipient in &recipients[..recipients.len() - untold] {
        let row = OutboxRow {
            rid: rows.next(Table::Outbox)?,
            id: DeliveryId(env.entropy.uuid(now)),
            suspension,
            attempt,
            channel: "email".to_owned(),
            recipient: recipient.clone(),
            tries: 0,
            due_at: now,
            lease: None,
        };
        rows.insert_outbox(&row)?;
        rows.notice(Notice::Delivery);
        rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel, state: Settled::Queued }));
    }
    Ok(())
}

/// Makes the messages of a question due that wait for another try; returns whose message is still on its way.
pub(super) fn requeue<R: Rows>(rows: &mut R, suspension: i64, now: DateTime<Utc>) -> RowsResult<Vec<String>> {
    let mut people = Vec::new();
    for (row, state) in rows.reads().deliveries(suspension)? {
        if state != DeliveryState::Queued {
            continue;
        }
        if row.lease.is_none() {
            rows.requeue_outbox(row.rid, now)?;
            rows.notice(Notice::Delivery);
        }
        people.push(row.recipient);
    }
    Ok(people)
}

pub(in crate::store) fn lease_deliveries<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<Leased> {
    let now = env.clock.now();
    let mut leased = Leased { deliveries: Vec::new(), obsolete: 0, next_due: None };
    if presence::hold(rows.reads(), env.watch.is_steady())?.is_some() {
        return Ok(leased);
    }
    for row in rows.reads().due_deliveries(now, DELIVERIES_PER_UNIT)? {
        let suspension = match rows.reads().suspension_at(row.suspension) {
            Ok(suspension) => suspension,
            Err(error) => {
                put_off(rows, &row, now, error)?;
                continue;
            }
        };
        // Nobody is asked what has been decided. (A race may still send one: between this commit and the network.)
        let ended = suspension.suspension.ending.is_some() || suspension.suspension.is_expired(now);
        if ended && !planted(Bug::EndedQuestionSent) {
            rows.finish_outbox(row.rid, DeliveryState::Obsolete)?;
            rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel, state: Settled::Obsolete }));
            leased.obsolete += 1;
            continue;
        }
        let told = match Told::of(rows, &row, &suspension) {
            Ok(told) => told,
            Err(error) => {
                put_off(rows, &row, now, error)?;
                continue;
            }
        };
        // A message is tried until a newer one goes to the same person; who gets no newer one is still owed this one.
        if told.superseded {
            finish_delivery(rows, env, row, &suspension, false, "not accepted before the next attempt was due")?;
            leased.obsolete += 1;
            continue;
        }
        leased.deliveries.push(lease_delivery(rows, env, row, suspension, told, now)?);
    }
    leased.next_due = rows.reads().next_delivery()?;
    Ok(leased)
}

/// A message whose rows cannot be read must not hold up the ones behind it: it is put off, loudly.
fn put_off<R: Rows>(rows: &mut R, row: &OutboxRow, now: DateTime<Utc>, error: RowsError) -> RowsResult<()> {
    if let RowsError::Database(error) = error
        && error != diesel::result::Error::NotFound
    {
        return Err(error.into());
    }
    tracing::error!(delivery.id = %row.id, "the question of a message cannot be read; trying again in an hour");
    rows.requeue_outbox(row.rid, now + TimeDelta::seconds(PUT_OFF_SECONDS))
}

/// What a message says besides its own row; read before anything is written.
struct Told {
    question: Question,
    intent_title: String,
    /// The first message that reached the same recipient's mail server.
    first: Option<DeliveryId>,
    /// Who else was told by earlier attempts.
    asked_before: Vec<String>,
    /// Whether the same recipient's mail server took a message of this very attempt before.
    repeated: bool,
    /// Whether a newer message to the same recipient is queued or gone.
    superseded: bool,
}

impl Told {
    fn of<R: Rows>(rows: &mut R, row: &OutboxRow, suspension: &SuspensionRow) -> RowsResult<Self> {
        let question = rows.reads().question(suspension)?;
        let intent_title = rows.reads().body(suspension.intent)?.title;
        let (first, asked_before) = (None, Vec::new());
        let mut told = Self { question, intent_title, first, asked_before, repeated: false, superseded: false };
        if suspension.suspension.attempt == 1 && suspension.suspension.reminded_at.is_none() {
            return Ok(told);
        }
        for (other, state) in rows.reads().deliveries(suspension.rid)? {
            let same = other.recipient.eq_ignore_ascii_case(&row.recipient);
            let earlier = other.rid < row.rid && state == DeliveryState::Sent;
            told.superseded |= same && other.attempt > row.attempt;
            told.repeated |= same && earlier && other.attempt == row.attempt;
            if same && earlier && told.first.is_none() {
                told.first = Some(other.id);
            } else if !same && earlier && other.attempt < row.attempt && !told.asked_before.contains(&other.recipient) {
                told.asked_before.push(other.recipient);
            }
        }
        Ok(told)
    }
}

fn lease_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: OutboxRow,
    suspension: SuspensionRow,
    told: Told,
    now: DateTime<Utc>,
) -> RowsResult<LeasedDelivery> {
    let mut lease = [0; 16];
    env.entropy.fill(&mut lease);
    let tries = row.tries + 1;
    let seconds = if planted(Bug::LeaseWithoutEnd) { 0 } else { DELIVERY_LEASE_SECONDS };
    rows.lease_outbox(row.rid, &lease, now + TimeDelta::seconds(seconds), tries)?;
    // A fresh token for every try: the one before may have left the house.
    let token = LinkToken::new(rows.next(Table::Tokens)?, env.entropy.bytes32());
    rows.insert_token(&TokenRow {
        rid: token.row(),
        hash: if planted(Bug::TokenKept) { token.expose().into_bytes() } else { token.hash().to_vec() },
        suspension: suspension.rid,
        recipient: row.recipient.clone(),
        created_at: now,
    })?;
    Ok(LeasedDelivery {
        rid: row.rid,
        lease,
        id: row.id,
        recipient: row.recipient,
        attempt: row.attempt,
        first: told.first,
        asked_before: told.asked_before,
        repeated: told.repeated,
        tries,
        token,
        intent_title: told.intent_title,
        agent: suspension.suspension.asked_by.name.clone(),
        suspension: suspension.suspension,
        question: told.question,
        now,
    })
}

pub(in crate::store) fn complete_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    rid: i64,
    lease: &[u8; 16],
    result: &DeliveryResult,
) -> RowsResult<bool> {
    let Some(row) = rows.reads().delivery(rid)? else { return Ok(false) };
    // A worker that overslept its lease changes nothing: another one has the message.
    if row.lease.as_deref() != Some(lease) && !planted(Bug::FenceMissing) {
        return Ok(false);
    }
    if planted(Bug::RetryDropped) && matches!(result, DeliveryResult::Retry { .. }) {
        rows.finish_outbox(rid, DeliveryState::Obsolete)?;
        return Ok(true);
    }
    let (sent, detail) = match result {
        DeliveryResult::Sent(reply) => (true, reply),
        DeliveryResult::Retry { reason, after } if row.tries < DELIVERY_TRIES_MAX => {
            tracing::debug!(delivery.id = %row.id, delivery.tries = row.tries, reason, "delivery will be tried again");
            rows.requeue_outbox(
                rid,
                env.clock.now() + after.map_or_else(|| backoff(row.tries), |after| after.max(backoff(row.tries))),
            )?;
            rows.notice(Notice::Fact(Fact::DeliveryAttempted { channel: row.channel, result: Attempted::Retry }));
            return Ok(true);
        }
        DeliveryResult::Retry { reason, .. } | DeliveryResult::Failed(reason) => (false, reason),
    };
    let result = if sent { Attempted::Sent } else { Attempted::Failed };
    rows.notice(Notice::Fact(Fact::DeliveryAttempted { channel: row.channel.clone(), result }));
    let suspension = rows.reads().suspension_at(row.suspension)?;
    finish_delivery(rows, env, row, &suspension, sent, detail)?;
    Ok(true)
}

/// Ends a message, accepted or given up, and records it in the log.
fn finish_delivery<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    row: OutboxRow,
    suspension: &SuspensionRow,
    sent: bool,
    detail: &str,
) -> RowsResult<()> {
    let (state, settled) = if sent { (DeliveryState::Sent, Settled::Sent) } else { (DeliveryState::Failed, Settled::Failed) };
    rows.finish_outbox(row.rid, state)?;
    rows.notice(Notice::Fact(Fact::Delivery { channel: row.channel.clone(), state: settled }));
    let delivery = Delivery {
        suspension_id: suspension.suspension.id,
        delivery_id: row.id,
        attempt: row.attempt,
        channel: row.channel,
        recipient: row.recipient,
        detail: detail.to_owned(),
        tries: row.tries,
    };
    let loaded = load_of(rows, suspension)?;
    act(rows, env, loaded, &Command::RecordDelivery { delivery, sent })
}

pub(in crate::store) fn release_deliveries<R: Rows>(rows: &mut R, env: &Env<'_>) -> RowsResult<u64> {
    rows.release_outbox(env.clock.now())
}

/// 5 s, 10 s, 20 s … up to [`DELIVERY_BACKOFF_SECONDS_MAX`].
fn backoff(tries: u32) -> TimeDelta {
    TimeDelta::seconds((5_i64 << tries.saturating_sub(1).min(10)).min(DELIVERY_BACKOFF_SECONDS_MAX))
}
