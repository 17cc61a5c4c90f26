//! Stops: the rows that an event about one implies, who may give a command about one, and the reply.

use chrono::{DateTime, Utc};
use domain::base::ids::SuspensionId;
use domain::intent::stop_event::{Extended, StopEvent};
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::suspension::Kind;
use domain::suspension::demand::AgentRule;
use domain::suspension::stop::{Conditions, Provider, Stop};
use domain::wire::StopRecord;

use super::loaded::Loaded;
use super::{coordinators, tasks, wakes};
use crate::hub::Notice;
use crate::request::Outcome;
use crate::rows::prelude::*;
use crate::rows::{Decided, ReadStops as _, RowsError, RowsResult, SuspensionRow, Table, TimerKind, TimerRow};
use crate::span::{GoingOn, KeptTrace, SpanEnd, Stopping};
use crate::stopped::stop_of;
use crate::stopping;
use crate::surroundings::Env;

const NOT_LOADED: RowsError = RowsError::Inconsistent("an event names a stop that was not loaded");

/// Loads the stop that a command names, if it has ended.
pub(super) fn load_past<R: Rows>(rows: &mut R, loaded: &mut Loaded, named: SuspensionId) -> RowsResult<()> {
    let found = rows.reads().any_suspension(named)?.filter(|row| row.intent == loaded.row.rid);
    let ended = found.filter(|row| row.suspension.kind.is_stop() && row.suspension.ending.is_some());
    if let Some(row) = ended {
        loaded.intent.past_stop = Some(Box::new(stop_of(rows.reads(), &row)?));
        loaded.stops.push(row);
    }
    Ok(())
}

/// Decides whether a principal may stop the work on the intent, or let it go on.
pub(super) fn may<R: Rows>(
    rows: &mut R,
    loaded: &Loaded,
    principal: &Principal,
    action: Action,
    rules: &[AgentRule],
    now: DateTime<Utc>,
) -> Decided<()> {
    let stopped = loaded.intent.stop.as_deref().or(loaded.intent.past_stop.as_deref());
    stopping::may(rows.reads(), (loaded.row.rid, &loaded.intent), stopped, (principal, action), rules, now)
}

/// Writes the rows that an event about a stop implies.
pub(super) fn follow<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &mut Loaded,
    change: &StopEvent,
    now: DateTime<Utc>,
) -> RowsResult<()> {
    let id = change.suspension_id();
    rows.notice(Notice::Suspension(id));
    match change {
        StopEvent::Paused(_) | StopEvent::Parked(_) | StopEvent::Stopping(_) => begin(rows, env, loaded, now),
        StopEvent::TakenOver(_) => {
            let stop = loaded.intent.stop.as_deref().ok_or(NOT_LOADED)?;
            let rid = loaded.suspension_row(id)?.rid;
            rows.pass_stop(rid, stop.holder())?;
            rows.touch_suspension(rid, &stop.suspension)
        }
        StopEvent::Extended(extended) => extend(rows, loaded, extended),
        StopEvent::Settled(_) => {
            let stop = loaded.intent.stop.as_deref().ok_or(NOT_LOADED)?;
            let rid = loaded.suspension_row(id)?.rid;
            rows.update_stop(rid, stop.stage)?;
            rows.touch_suspension(rid, &stop.suspension)
        }
        StopEvent::Resumed(_) | StopEvent::Closed(_) => end(rows, env, loaded, id, now),
    }
}

/// Writes the rows of a stop that begins: itself, its timer, and the events for which it waits.
fn begin<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &mut Loaded, now: DateTime<Utc>) -> RowsResult<()> {
    let stop = loaded.intent.stop.as_deref().ok_or(NOT_LOADED)?;
    let rid = rows.next(Table::Suspensions)?;
    let (intent, event) = (loaded.row.rid, loaded.row.last_event);
    let row = SuspensionRow { rid, intent, event, ending_event: None, places: Vec::new(), suspension: stop.suspension.clone() };
    rows.insert_suspension(&row)?;
    rows.insert_stop(rid, stop.stage)?;
    for (name, provider) in waits_for(stop) {
        rows.insert_wake(rid, name, provider)?;
    }
    if let Some(due_at) = stop.suspension.expires_at {
        rows.insert_timer(TimerRow { due_at, suspension: rid, kind: TimerKind::Deadline, attempt: 0 })?;
        rows.notice(Notice::Timer);
    }
    if let Some(terms) = stop.terms.as_ref().filter(|_| env.traced) {
        let stopping = Stopping {
            handle: stop.suspension.id,
            kind: stop.suspension.kind,
            initiator: terms.initiator,
            has_reason: terms.reason.is_some(),
            has_conditions: terms.conditions.is_some(),
            parent: stopping::parent(rows.reads(), loaded.row.rid)?.map(|parent| parent.intent.id),
        };
        let span = loaded.span(env, SpanEnd::Stop(stopping), now);
        rows.insert_trace(rid, KeptTrace { own: span.context, pipeline: span.parent })?;
        rows.notice(Notice::Span(Box::new(span)));
    }
    loaded.stops.push(row);
    Ok(())
}

/// Keeps the keys of an agent that leaves paused work. As long as the pause lasts they count as if it had stayed.
pub(super) fn depart<R: Rows>(rows: &mut R, loaded: &Loaded, agent_id: &str) -> RowsResult<()> {
    let Some(stop) = loaded.intent.stop.as_deref().filter(|stop| stop.suspension.kind == Kind::Paused) else { return Ok(()) };
    let rid = loaded.suspension_row(stop.suspension.id)?.rid;
    let mut departed = rows.reads().departed(rid)?;
    let known = departed.len();
    for key in stopping::keys_of(rows.reads(), &[agent_id.to_owned()])? {
        if !departed.contains(&key) {
            departed.push(key);
        }
    }
    if departed.len() > known { rows.note_departed(rid, &departed) } else { Ok(()) }
}

/// The names of the events for which a stop waits.
fn waits_for(stop: &Stop) -> Vec<(&str, Option<Provider>)> {
    let conditions = stop.terms.as_ref().and_then(|terms| terms.conditions.as_ref());
    conditions.map(Conditions::waits_for).unwrap_or_default()
}

/// Moves the deadline of a stop, and its timer.
fn extend<R: Rows>(rows: &mut R, loaded: &Loaded, extended: &Extended) -> RowsResult<()> {
    let stop = loaded.intent.stop.as_deref().ok_or(NOT_LOADED)?;
    let suspension = loaded.suspension_row(extended.suspension_id)?.rid;
    rows.touch_suspension(suspension, &stop.suspension)?;
    rows.move_deadline(suspension, extended.new_expires_at)?;
    let timer = TimerRow { due_at: extended.old_expires_at, suspension, kind: TimerKind::Deadline, attempt: 0 };
    // A timer that was put off is not found under its old time, and stays. If it fires before the new deadline, it does nothing.
    rows.delete_timer(timer)?;
    rows.insert_timer(TimerRow { due_at: extended.new_expires_at, ..timer })?;
    rows.notice(Notice::Timer);
    Ok(())
}

/// Ends the row of a stop, by the same conditional update as that of a question.
fn end<R: Rows>(rows: &mut R, env: &Env<'_>, loaded: &Loaded, id: SuspensionId, now: DateTime<Utc>) -> RowsResult<()> {
    coordinators::outlive(rows, loaded)?;
    tasks::outlive(rows, loaded)?;
    let ended = loaded.intent.past_stop.as_deref().filter(|stop| stop.suspension.id == id).ok_or(NOT_LOADED)?;
    let rid = loaded.suspension_row(id)?.rid;
    if !rows.end_suspension(rid, &ended.suspension, loaded.row.last_event)? {
        return Err(RowsError::Inconsistent("an open stop has already ended"));
    }
    if let Some(gone) = ended.gone.as_ref().filter(|_| env.traced) {
        let ending = GoingOn {
            handle: id,
            kind: ended.suspension.kind,
            cause: gone.cause,
            continue_transcript: gone.continue_transcript,
            had_input: gone.input.is_some(),
        };
        let kept = rows.take_trace(rid)?;
        rows.notice(Notice::Span(Box::new(loaded.span(env, SpanEnd::GoOn { ending, kept }, now))));
    }
    for (name, _) in waits_for(ended) {
        rows.delete_wake(rid, name)?;
    }
    if let Some(ending) = &ended.suspension.ending {
        wakes::queue(rows, env, loaded, (id, ending.resolution), now)?;
    }
    for lease in loaded.intent.leases.iter().filter(|lease| lease.holds(now, None)) {
        rows.save_lease(loaded.row.rid, lease)?;
    }
    Ok(())
}

/// The reply to a command about a stop.
pub(super) fn shown(loaded: &Loaded, named: Option<SuspensionId>) -> RowsResult<Outcome> {
    let stop = match named {
        Some(id) => loaded.intent.stopped(id),
        // The work that ends at once has no open stop any more.
        None => loaded.intent.stop.as_deref().or(loaded.intent.past_stop.as_deref()),
    };
    let stop = stop.ok_or(NOT_LOADED)?;
    Ok(Outcome::Stop(Box::new(StopRecord::of(stop))))
}
