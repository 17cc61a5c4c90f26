//! Erases the content of intents that have ended.
//!
//! Guarantee: an event loses its payload and its salt only together with an event `payload.redacted` of the server's log that names it, and
//! with every copy of its content. Mechanism: one transaction, which holds the intent. A long log is erased in several transactions, each
//! with an event of its own, so that other writes do not wait long. Failure: a crash leaves whole parts erased and others not; the same
//! request goes on from there.

use std::collections::{BTreeMap, BTreeSet};

use chrono::TimeDelta;
use domain::base::ids::{IntentId, SuspensionId};
use domain::log::payload::Payload;
use domain::people::authority::{Action, Object, authorize};
use domain::people::event::{PayloadRedacted, ServerEvent};
use domain::people::principal::{Credential, Principal};
use domain::problem::Rejection;
use serde_json::Value;

use super::{holds, inbox, server_log};
use crate::error::Wanted;
use crate::rows::prelude::*;
use crate::rows::{Decided, IntentRow, Listed, Place, RedactionRow, RowsResult, Source};
use crate::surroundings::Env;
use crate::tree::leaf_of;

/// The most events that one transaction erases.
const EVENTS_PER_UNIT: usize = 500;
/// One transaction erases no further event after so many bytes.
const BYTES_PER_UNIT: usize = 8 * 1024 * 1024;
/// How long replies are kept for repeated requests, at most.
const REPLIES_KEPT: TimeDelta = TimeDelta::days(3);

/// How far an erasure has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Redacted {
    /// How many events this transaction erased.
    pub events: u64,
    /// Whether there may be more events to erase.
    pub more: bool,
}

/// The person or server that erases, and why.
pub(super) struct Eraser<'a> {
    pub(super) actor: &'a str,
    pub(super) credential: Option<Credential>,
    pub(super) legal_basis: &'a str,
}

/// Erases the next events of an intent, for an admin.
pub(crate) fn redact<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    principal: &Principal,
    id: IntentId,
    legal_basis: &Wanted<String>,
) -> Decided<Redacted> {
    if let Err(rejection) = authorize(principal, Action::Redact, Object::Server) {
        return Ok(Err(rejection));
    }
    let Some(row) = rows.reads().intent(id)? else { return Ok(Err(Rejection::NotFound)) };
    let legal_basis = match legal_basis {
        Ok(legal_basis) => legal_basis,
        Err(rejection) => return Ok(Err(rejection.clone())),
    };
    let eraser = Eraser { actor: &principal.name, credential: principal.credential, legal_basis };
    erase(rows, env, &row, &eraser)
}

/// Erases the next events of an intent: the one way to erase.
pub(super) fn erase<R: Rows>(rows: &mut R, env: &Env<'_>, row: &IntentRow, eraser: &Eraser<'_>) -> Decided<Redacted> {
    if let Err(rejection) = may_be_erased(rows, env, row)? {
        return Ok(Err(rejection));
    }
    let Some(part) = next_part(rows, row)? else { return Ok(Ok(Redacted { events: 0, more: false })) };
    let Some(last_sequence) = part.last_sequence else { return Ok(Ok(Redacted { events: 0, more: part.more })) };
    for (suspension, answerers) in erase_events(rows, &part.events)? {
        if let Some(asked) = rows.reads().suspension(suspension)?.filter(|asked| asked.intent == row.rid) {
            rows.erase_suspension(asked.rid)?;
            for person in answerers {
                rows.delete_answered(&person, asked.rid)?;
            }
        }
    }
    rows.erase_intent(row.rid)?;
    if row.intent.is_errand {
        rows.delete_errand(row.rid)?;
    }
    if row.intent.updated_at + REPLIES_KEPT > env.clock.now() {
        rows.erase_replies(row.intent.id)?;
    }
    let events = part.events.len() as u64;
    let first_sequence = last_sequence + 1 - events;
    let redacted = PayloadRedacted {
        intent_id: row.intent.id,
        first_sequence,
        last_sequence,
        legal_basis: eraser.legal_basis.to_owned(),
        credential: eraser.credential,
    };
    server_log::append(rows, env, eraser.actor, &ServerEvent::PayloadRedacted(redacted))?;
    let server_event = rows.lock_server_log()?.sequence;
    let (intent, previous) = (row.rid, part.previous);
    rows.insert_redaction(&RedactionRow { intent, first_sequence, last_sequence, previous, server_event })?;
    Ok(Ok(Redacted { events, more: part.more }))
}

/// Refuses while the content is needed: while people are asked, before the intent has ended, and under a legal hold.
fn may_be_erased<R: Rows>(rows: &mut R, env: &Env<'_>, row: &IntentRow) -> Decided<()> {
    let open = Listed { beside: Some(row.rid), open: true, limit: 1, ..Listed::default() };
    if row.open_suspension.is_some() || !rows.reads().suspensions(open)?.is_empty() {
        return Ok(Err(Rejection::QuestionOpen));
    }
    if !row.intent.status.is_final() {
        return Ok(Err(Rejection::IntentNotEnded { status: row.intent.status.as_str().to_owned() }));
    }
    if holds::covers(rows, env, row.intent.id, &row.intent.created_by.name)? {
        return Ok(Err(Rejection::LegalHold));
    }
    Ok(Ok(()))
}

/// Consecutive events that are not erased yet.
struct Part {
    /// Their rows, the newest first.
    events: Vec<i64>,
    /// The number of the newest; absent if there is none.
    last_sequence: Option<u64>,
    /// The row of the event before them.
    previous: Option<i64>,
    more: bool,
}

/// The newest events that have leaves and are not erased yet; `None` if all events are erased. An event is erased only when it has its leaf:
/// then the event that says so has a greater one, as verifiers demand.
fn next_part<R: Rows>(rows: &mut R, row: &IntentRow) -> RowsResult<Option<Part>> {
    let done = rows.reads().redactions(row.rid)?;
    let mut part = Part { events: Vec::new(), last_sequence: None, previous: None, more: false };
    let (mut next, mut sequence, mut bytes) = ((row.last_sequence > 0).then_some(row.last_event), row.last_sequence, 0);
    while let Some(rid) = next {
        if let Some(erased) = done.iter().find(|erased| erased.last_sequence == sequence) {
            if part.last_sequence.is_some() {
                break;
            }
            (next, sequence) = (erased.previous, erased.first_sequence - 1);
            continue;
        }
        let place = Place { source: Source::Intents, subject: 0, number: rid };
        if part.last_sequence.is_some() || rows.reads().leaf_of(place)?.is_some() {
            if part.events.len() >= EVENTS_PER_UNIT || bytes >= BYTES_PER_UNIT {
                break;
            }
            bytes += rows.reads().event(rid)?.bytes.len();
            part.events.push(rid);
            part.last_sequence = part.last_sequence.or(Some(sequence));
        } else {
            part.more = true;
        }
        (next, sequence) = (rows.reads().event_link(rid)?.previous, sequence.saturating_sub(1));
    }
    part.previous = next;
    part.more |= next.is_some();
    Ok((part.more || part.last_sequence.is_some()).then_some(part))
}

/// Replaces events by their leaves. Returns the questions that they name, each with the people who have answered it as these events say.
fn erase_events<R: Rows>(rows: &mut R, events: &[i64]) -> RowsResult<BTreeMap<SuspensionId, BTreeSet<String>>> {
    let mut named: BTreeMap<_, BTreeSet<String>> = BTreeMap::new();
    for rid in events {
        let sealed = rows.reads().event(*rid)?;
        let leaf = leaf_of(&sealed)?;
        let mut event: Value = serde_json::from_slice(&sealed.bytes)?;
        if let Some(suspension) = event["payload"]["suspension_id"].as_str().and_then(SuspensionId::parse) {
            let payload = event["payload"].take();
            let payload = event["event_type"].as_str().and_then(|kind| Payload::read(kind, payload).ok());
            named.entry(suspension).or_default().extend(payload.iter().flat_map(inbox::answerers_in));
        }
        rows.erase_event(*rid, &leaf)?;
    }
    Ok(named)
}
