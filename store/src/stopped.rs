//! Reads a stop: its suspension, and what the events say by which it began and ended.

use chrono::{DateTime, Utc};
use domain::intent::body::PAUSE_KEY;
use domain::intent::status::Status;
use domain::intent::stop_event::StopEvent;
use domain::suspension::stop::Stop;
use domain::wire::{IntentView, StopRecord};
use serde::Deserialize;
use serde_json::Value;

use crate::rows::prelude::*;
use crate::rows::{IntentRow, RowsError, RowsResult, SuspensionRow};

/// The stop whose suspension this is.
pub(crate) fn stop_of<R: ReadRows>(rows: &mut R, row: &SuspensionRow) -> RowsResult<Stop> {
    let terms = event(rows, row.event)?.and_then(|began| began.terms());
    let gone = match row.ending_event {
        Some(rid) => event(rows, rid)?.and_then(|ended| ended.gone()),
        None => None,
    };
    let (stage, taken_over_by) = rows.standing_of(row.rid)?;
    Ok(Stop { suspension: row.suspension.clone(), stage, taken_over_by, terms, gone })
}

/// The open stop of an intent, with its suspension; only an intent that is blocked has one.
pub(crate) fn open_stop<R: ReadRows>(rows: &mut R, intent: &IntentRow) -> RowsResult<Option<(SuspensionRow, Stop)>> {
    if intent.intent.status != Status::Blocked {
        return Ok(None);
    }
    let Some(rid) = rows.open_stop(intent.rid)? else { return Ok(None) };
    let row = rows.suspension_at(rid)?;
    let stop = stop_of(rows, &row)?;
    Ok(Some((row, stop)))
}

/// The event about a stop in this row; `None` if it was erased.
fn event<R: ReadRows>(rows: &mut R, rid: i64) -> RowsResult<Option<StopEvent>> {
    #[derive(Deserialize)]
    struct Written {
        event_type: String,
        payload: Value,
    }
    let sealed = rows.event(rid)?;
    if sealed.is_erased() {
        return Ok(None);
    }
    let Written { event_type, payload } = serde_json::from_slice(&sealed.bytes)?;
    let read = StopEvent::read(&event_type, &payload);
    Ok(Some(read.ok_or(RowsError::Inconsistent("a stop began or ended with an event about something else"))??))
}

/// The time since which an intent has been stopped or has waited for a person.
pub(crate) fn suspended_since<R: ReadRows>(rows: &mut R, intent: &IntentRow) -> RowsResult<Option<DateTime<Utc>>> {
    let rid = match intent.open_suspension {
        None if intent.intent.status == Status::Blocked => rows.open_stop(intent.rid)?,
        open => open,
    };
    rid.map(|rid| Ok(rows.suspension_at(rid)?.suspension.suspended_at)).transpose()
}

/// The intent as it is shown, with its open stop as `_pause` in the state.
pub(crate) fn with_stop<R: ReadRows>(rows: &mut R, intent: &IntentRow, mut view: IntentView) -> RowsResult<IntentView> {
    if let Some((_, stop)) = open_stop(rows, intent)? {
        view.state.insert(PAUSE_KEY.to_owned(), StopRecord::of(&stop).naive());
        view.blocked_reason = Some(stop.suspension.kind.blocks_as());
    }
    Ok(view)
}
