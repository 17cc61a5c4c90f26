//! Reads the events that a stream carries behind a place in the log. Streams read the log and do not rely on being told of
//! events, because the log also holds the events that another server wrote, and those written while the stream's reader was away.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::base::name::{form, is_same};
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::problem::Rejection;

use crate::Wanted;
use crate::portfolios::readable_portfolio;
use crate::publications::{KEPT_EVENTS_MAX, Newest, Reading, Sorted};
use crate::reads::{may, readable};
use crate::rows::prelude::*;
use crate::rows::{Decided, RowsResult};
use crate::stream::{Followed, StreamCursor, StreamOf, Streamed};

/// The most events that one read of a stream walks over.
pub(crate) const LOOK_EVENTS_MAX: u32 = 256;
/// The most events that the reader of a log may be behind. A reader that is further behind misses the oldest of them, because
/// finding an event costs a step for each event after it.
const EVENTS_BEHIND_MAX: u64 = 1_000;
/// One read of a stream ends after this many bytes of events.
const LOOK_BYTES_MAX: usize = 256 * 1024;

/// Reads the events of a stream behind `after`; without `after`, finds only the place at the end. If the reader that serves all
/// streams of this server (see [`sort`]) has found these events already, `newest` has them.
pub(crate) fn look<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    of: &StreamOf,
    after: Wanted<Option<StreamCursor>>,
    newest: Option<Newest>,
    now: DateTime<Utc>,
) -> Decided<Streamed> {
    if let StreamOf::Log(id) = of {
        return log(rows, principal, *id, after, now);
    }
    let scope = match permitted(rows, principal, of, now)? {
        Ok(scope) => scope,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let after = match after {
        Ok(after) => after,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let (after, passed, found) = match (newest, after) {
        (Some(Newest { events, passed }), Some(after)) => (after, passed, events),
        (_, after) => {
            let end = rows.published_end()?;
            // A place beyond the end was given out before the database was restored from an older copy; the stream goes on from
            // the end.
            let after = after.map_or(end, |after| after.min(end));
            let found = rows.published(scope.intent(), after, end, LOOK_EVENTS_MAX)?;
            (after, (found.len() < LOOK_EVENTS_MAX as usize).then_some(end), found)
        }
    };
    let mut streamed = Streamed { events: Vec::new(), missed: None, cursor: after, more: passed.is_none() };
    let (mut bytes, mut shown) = (0, HashMap::new());
    for row in &found {
        if bytes >= LOOK_BYTES_MAX {
            streamed.more = true;
            break;
        }
        streamed.cursor = row.at;
        let is_shown = match shown.get(&row.intent) {
            Some(is_shown) => *is_shown,
            None => is_shown(rows, principal, &scope, row.intent, now)?,
        };
        shown.insert(row.intent, is_shown);
        if is_shown {
            let event = rows.event(row.at.rid)?.served();
            bytes += event.len();
            streamed.events.push((row.at, serde_json::from_str(&event)?));
        }
    }
    // The stream of one intent reads only that intent's events, so its place stays that of its last event. Every other stream
    // moves on to the end of what was read, past the events that it does not carry.
    if let (Some(passed), None, false) = (passed, scope.intent(), streamed.more) {
        streamed.cursor = passed;
    }
    Ok(Ok(streamed))
}

/// Sorts new events by the streams that carry them; this is one read of the reader that serves all streams. If the reader is
/// far behind the end, or ahead of it because the database was replaced, it reads only as many of the newest events as are
/// kept.
pub(crate) fn sort<R: ReadRows>(rows: &mut R, turn: Reading) -> RowsResult<Sorted> {
    let end = rows.published_end()?;
    let after = turn.after.filter(|after| *after <= end);
    let after = match after {
        Some(after) if !turn.may_be_far => after,
        after => rows.published_before(end, KEPT_EVENTS_MAX)?.max(after.unwrap_or(StreamCursor::BEGIN)),
    };
    let found = rows.published(None, after, end, LOOK_EVENTS_MAX)?;
    let more = found.len() == LOOK_EVENTS_MAX as usize;
    let passed = found.last().filter(|_| more).map_or(end, |last| last.at);
    let mut known = HashMap::new();
    let mut events = Vec::with_capacity(found.len());
    for event in found {
        let carried_by = match known.entry(event.intent) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(unknown) => unknown.insert(match carried_by(rows, event.intent) {
                Ok(carried_by) => carried_by,
                Err(error) if error.is_unreadable() => {
                    tracing::error!(intent.rid = event.intent, error = %error, "an intent cannot be read, so its streams are not woken");
                    Arc::default()
                }
                Err(error) => return Err(error),
            }),
        };
        events.push((event, carried_by.clone()));
    }
    Ok(Sorted { after, events, passed, more })
}

/// The streams that carry the events of an intent.
fn carried_by<R: ReadRows>(rows: &mut R, intent: i64) -> RowsResult<Arc<[Followed]>> {
    let row = rows.intent_at(intent)?;
    let mut agents: Vec<String> = rows.assigned(intent)?.iter().map(|agent| form(agent)).collect();
    agents.push(form(&row.intent.created_by.name));
    agents.sort_unstable();
    agents.dedup();
    let agents = agents.into_iter().map(Followed::Agent);
    let portfolios = rows.portfolios_of(intent)?.into_iter().map(Followed::Portfolio);
    Ok(std::iter::once(Followed::Intent(row.intent.id)).chain(agents).chain(portfolios).collect())
}

/// Reads the events of one intent's log behind `after`. A place in that log is the number of an event.
fn log<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    id: IntentId,
    after: Wanted<Option<StreamCursor>>,
    now: DateTime<Utc>,
) -> Decided<Streamed> {
    let row = match readable(rows, principal, id, now)? {
        Ok(row) => row,
        Err(rejection) => return Ok(Err(rejection)),
    };
    let permitted = may(rows, principal, Action::Browse, &row, row.newest_suspension, now)?;
    let after = match permitted.and(after) {
        Ok(after) => after,
        Err(rejection) => return Ok(Err(rejection)),
    };
    // A place beyond the end was given out before the database was restored from an older copy; the stream goes on from the
    // end.
    let named = after.map(|after| u64::try_from(after.position).unwrap_or(0));
    let after = named.unwrap_or(u64::MAX).min(row.last_sequence);
    let missed = (row.last_sequence - after).saturating_sub(EVENTS_BEHIND_MAX);
    let (mut rid, mut behind) = (Some(row.last_event), Vec::new());
    for sequence in (after + missed + 1..=row.last_sequence).rev() {
        let Some(at) = rid else { break };
        behind.push((sequence, at));
        rid = rows.event_link(at)?.previous;
    }
    let place = |sequence| StreamCursor { position: i64::try_from(sequence).unwrap_or(i64::MAX), rid: 0 };
    let told = (missed > 0).then(|| (place(after + missed), missed));
    let mut streamed = Streamed { events: Vec::new(), missed: told, cursor: place(after + missed), more: false };
    let mut bytes = 0;
    for (sequence, at) in behind.into_iter().rev() {
        if bytes >= LOOK_BYTES_MAX || streamed.events.len() >= LOOK_EVENTS_MAX as usize {
            streamed.more = true;
            break;
        }
        let event = rows.event(at)?.served();
        bytes += event.len();
        streamed.cursor = place(sequence);
        streamed.events.push((streamed.cursor, serde_json::from_str(&event)?));
    }
    Ok(Ok(streamed))
}

/// The part of the log that a stream carries.
enum Scope<'a> {
    /// One intent.
    Intent(i64),
    /// The intents that an agent created or to which it is assigned.
    Agent(&'a str),
    /// The intents in a portfolio.
    Portfolio(i64),
}

impl Scope<'_> {
    /// The row of the intent, if the stream carries the events of only one intent.
    fn intent(&self) -> Option<i64> {
        match self {
            Self::Intent(rid) => Some(*rid),
            Self::Agent(_) | Self::Portfolio(_) => None,
        }
    }
}

/// The part of the log that this stream carries, if the principal may have the stream.
fn permitted<'a, R: ReadRows>(rows: &mut R, principal: &Principal, of: &'a StreamOf, now: DateTime<Utc>) -> Decided<Scope<'a>> {
    match of {
        StreamOf::Intent(id) | StreamOf::Log(id) => {
            let row = match readable(rows, principal, *id, now)? {
                Ok(row) => row,
                Err(rejection) => return Ok(Err(rejection)),
            };
            let permitted = may(rows, principal, Action::Browse, &row, row.newest_suspension, now)?;
            Ok(permitted.map(|()| Scope::Intent(row.rid)))
        }
        StreamOf::Agent(agent) if principal.role == Role::Agent && principal.may_act_for(agent) => Ok(Ok(Scope::Agent(agent))),
        // The caller must not learn whether the agent exists.
        StreamOf::Agent(_) => Ok(Err(Rejection::NotFound)),
        StreamOf::Portfolio(id) => Ok(readable_portfolio(rows, principal, *id)?.map(|row| Scope::Portfolio(row.rid))),
    }
}

/// Whether the stream carries events of this intent.
fn is_shown<R: ReadRows>(
    rows: &mut R,
    principal: &Principal,
    scope: &Scope<'_>,
    intent: i64,
    now: DateTime<Utc>,
) -> RowsResult<bool> {
    let row = match scope {
        Scope::Intent(_) => return Ok(true),
        Scope::Portfolio(portfolio) => {
            if rows.membership(*portfolio, intent)?.is_none() {
                return Ok(false);
            }
            rows.intent_at(intent)?
        }
        Scope::Agent(agent) => {
            let row = rows.intent_at(intent)?;
            let created_by = &row.intent.created_by.name;
            if !is_same(created_by, agent) && !rows.assigned(intent)?.iter().any(|assigned| is_same(assigned, agent)) {
                return Ok(false);
            }
            row
        }
    };
    Ok(may(rows, principal, Action::Browse, &row, row.newest_suspension, now)?.is_ok())
}
