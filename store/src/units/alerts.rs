//! The mails to admins about questions that too few people are left to answer.
//!
//! Guarantee: each listed admin gets one mail about a question, also if the question comes within reach and out of it again. Mechanism: a row
//! for each question and admin, which stays until the question ends; its mail is leased, handed over, and recorded. A mail that has not left
//! when the question is within reach again is dropped with its row, so that admins hear of the next time. Failure: a crash after the mail was
//! handed over sends it once more.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use chrono::{DateTime, TimeDelta, Utc};
use domain::base::ids::PersonId;
use domain::people::person::Person;
use domain::people::principal::Role;

use super::loaded::load_of;
use super::server_log;
use crate::assigning::out_of_reach;
use crate::person::{LeasedAlert, LoginResult};
use crate::reads::hold;
use crate::rows::prelude::*;
use crate::rows::{AlertRow, RowsResult, SuspensionRow};
use crate::surroundings::Env;

/// How many mails one transaction leases at most.
const ALERTS_PER_UNIT: u32 = 16;
/// How long a worker may take to send one mail before another may try.
const LEASE_LASTS: TimeDelta = TimeDelta::minutes(2);
/// The pause after the first try that failed; each further one is twice as long.
const PAUSE: TimeDelta = TimeDelta::minutes(1);
/// How often a pause is doubled at most.
const DOUBLED_MAX: u32 = 6;

/// Queues the mails about a question that too few people can answer, unless admins were told of it before; returns how many.
pub(crate) fn queue<R: Rows>(rows: &mut R, env: &Env<'_>, rid: i64) -> RowsResult<u64> {
    let row = rows.reads().suspension_at(rid)?;
    // This locks the intent on PostgreSQL, so that no other server queues mails about the same question.
    load_of(rows, &row)?;
    let (mut row, now) = (rows.reads().suspension_at(rid)?, env.clock.now());
    if row.suspension.ending.is_some() || row.suspension.is_expired(now) {
        return Ok(0);
    }
    if rows.reads().is_alerted(rid)? {
        // An older server queues mails without the mark.
        mark(rows, rid, &mut row)?;
        return Ok(0);
    }
    let question = rows.reads().question(&row)?;
    if out_of_reach(rows.reads(), &row, &question)?.is_none() {
        return Ok(0);
    }
    let admins: Vec<Person> = rows.reads().people()?.into_iter().filter(|person| person.role == Role::Admin).collect();
    for admin in &admins {
        let alert = AlertRow { suspension: rid, person: admin.id, due_at: Some(now), tries: 0, lease: None };
        rows.insert_alert(&alert)?;
    }
    if !admins.is_empty() {
        mark(rows, rid, &mut row)?;
    }
    Ok(admins.len() as u64)
}

/// Marks a question as one with mails. The end of the question deletes their rows; the ends of other questions need not look for any.
fn mark<R: Rows>(rows: &mut R, rid: i64, row: &mut SuspensionRow) -> RowsResult<()> {
    if row.suspension.hands.has_alerts {
        return Ok(());
    }
    row.suspension.hands.has_alerts = true;
    rows.save_hands(rid, &row.suspension.hands)
}

/// The questions, by their rows, about which mails are due; each with the result of [`keeps_owner_out`].
pub(crate) type Reach = HashMap<i64, Option<bool>>;

/// Reads the questions about which mails are due.
///
/// To read who can answer a question may take long, so this is no part of the transaction that leases the mails: answers wait for that.
pub(crate) fn reach<R: ReadRows>(rows: &mut R, now: DateTime<Utc>) -> RowsResult<Reach> {
    let mut reach = Reach::new();
    for alert in due(rows, now)? {
        if let Entry::Vacant(unknown) = reach.entry(alert.suspension) {
            let row = rows.suspension_at(alert.suspension)?;
            unknown.insert(keeps_owner_out(rows, &row)?);
        }
    }
    Ok(reach)
}

/// The first mails that are due.
fn due<R: ReadRows>(rows: &mut R, now: DateTime<Utc>) -> RowsResult<Vec<AlertRow>> {
    let mut queued = rows.queued_alerts(ALERTS_PER_UNIT)?;
    queued.retain(|alert| alert.due_at.is_some_and(|due_at| due_at <= now));
    Ok(queued)
}

/// Leases mails that are due, about the questions in `reach`. A mail about a question that has ended, or that enough people could answer again
/// when `reach` was read, or to a person who is no admin any more, is not sent.
pub(crate) fn lease<R: Rows>(rows: &mut R, env: &Env<'_>, reach: &Reach) -> RowsResult<Vec<LeasedAlert>> {
    let now = env.clock.now();
    if hold(rows.reads(), env.watch)?.is_some() {
        return Ok(Vec::new());
    }
    // The log's row is locked, so that two servers do not lease one mail.
    server_log::begin(rows, env)?;
    let mut leased = Vec::new();
    for mut alert in due(rows.reads(), now)? {
        // A mail that has become due since the questions were read is leased by the next call.
        let Some(known) = reach.get(&alert.suspension) else { continue };
        let row = rows.reads().suspension_at(alert.suspension)?;
        if row.suspension.ending.is_some() {
            // Its end has left them: an older server queued them, and does not mark the question.
            rows.delete_alerts(alert.suspension)?;
            continue;
        }
        let admin = rows.reads().person(alert.person)?.filter(|person| person.role == Role::Admin);
        let Some(admin) = admin else {
            (alert.due_at, alert.lease) = (None, None);
            rows.update_alert(&alert)?;
            continue;
        };
        // People may have left since the question was read. A mail that is dropped by mistake would be queued again only minutes later.
        let found = if known.is_some() { *known } else { keeps_owner_out(rows.reads(), &row)? };
        let Some(keeps_owner_out) = found else {
            rows.delete_alert(alert.suspension, alert.person)?;
            continue;
        };
        let mut lease = [0; 16];
        env.entropy.fill_shown(&mut lease);
        (alert.due_at, alert.lease, alert.tries) = (Some(now + LEASE_LASTS), Some(lease.to_vec()), alert.tries + 1);
        rows.update_alert(&alert)?;
        leased.push(LeasedAlert {
            rid: alert.suspension,
            person: admin.id,
            address: admin.address,
            lease,
            tries: alert.tries,
            question: row.suspension.id,
            intent: row.suspension.intent_id,
            preferences: admin.preferences,
            agent: row.suspension.asked_by.name,
            keeps_owner_out,
            leased_at: now,
        });
    }
    Ok(leased)
}

/// Whether people may not answer a question because they own the key that asked; `None` if enough people can answer it. Of a question that
/// cannot be read, the mail gives the other reasons: it is no reason to keep all mails back.
fn keeps_owner_out<R: ReadRows>(rows: &mut R, row: &SuspensionRow) -> RowsResult<Option<bool>> {
    let found = rows.question(row).and_then(|question| out_of_reach(rows, row, &question));
    match found {
        Ok(found) => Ok(found.map(|found| found.keeps_owner_out)),
        Err(error) if error.is_unreadable() => Ok(Some(false)),
        Err(error) => Err(error),
    }
}

/// Records the result of sending a mail. Without a valid lease, changes nothing.
pub(crate) fn complete<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    (rid, person): (i64, PersonId),
    lease: [u8; 16],
    result: LoginResult,
) -> RowsResult<()> {
    server_log::begin(rows, env)?;
    let found = rows.reads().alert(rid, person)?.filter(|alert| alert.lease.as_deref() == Some(&lease));
    let Some(mut alert) = found else { return Ok(()) };
    let pause = || PAUSE * 2_i32.pow(alert.tries.saturating_sub(1).min(DOUBLED_MAX));
    alert.due_at = (result == LoginResult::Retry).then(|| env.clock.now() + pause());
    alert.lease = None;
    rows.update_alert(&alert)
}
