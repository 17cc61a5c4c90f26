//! The edges from an intent to the intents that it needs, and how the dependents of a completed intent are told of that
//! (RFC-0002).
//!
//! Guarantee: an intent with a dependency that is not completed is never active, and no intents wait for each other in a circle.
//! Mechanism: an edge is added while both intents and the graph are locked. The transaction that completes an intent tells at
//! most [`TOLD_AT_ONCE`] of its dependents; the deadline loop tells the rest. An intent that is needed is locked before the
//! intent that needs it; where that is not possible, PostgreSQL breaks the deadlock and the unit runs again. Failure: a dependent
//! that has not been told yet stays blocked, and a row says that it has to be told.

use std::collections::{HashMap, HashSet};

use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::intent::command::Command;
use domain::intent::dependency::{BLOCKING_NAMED_MAX, Edge, Upstream};
use domain::intent::event::Event;
use domain::intent::status::Status;
use domain::people::authority::Action;
use domain::people::principal::{Principal, Role};
use domain::problem::{Blocking, Rejection};
use domain::suspension::Resolution;
use domain::suspension::stop_refusal::StopRefusal;

use super::act::act;
use super::circle::circle;
use super::contract;
use super::loaded::{Loaded, load};
use crate::hub::Notice;
use crate::reads::{may, readable};
use crate::request::Request;
use crate::rows::prelude::*;
use crate::rows::{Decided, IntentRow, RowsResult};
use crate::stopped::open_stop;
use crate::surroundings::Env;

/// How many dependents one transaction tells that an intent is completed.
pub(crate) const TOLD_AT_ONCE: u32 = 100;
/// How many intents below a dependency are looked at for one that waits for a person.
const LOOKED_AT_MAX: usize = 1_000;

/// A dependency of a new intent.
pub(super) struct Needed {
    pub(super) rid: i64,
    pub(super) id: IntentId,
    pub(super) is_completed: bool,
}

/// Locks the dependency that the command names and, if the command adds it, the graph, before the intent itself is locked.
pub(super) fn lock<R: Rows>(rows: &mut R, request: &Request) -> RowsResult<()> {
    let Ok(command) = &request.command else { return Ok(()) };
    let Some(dependency) = command.names_dependency() else { return Ok(()) };
    if matches!(command, Command::AddDependency(_)) {
        rows.lock_graph()?;
    }
    rows.reads().intent(dependency)?;
    Ok(())
}

/// Loads the facts about other intents that a command needs, and the contract by which it is judged.
pub(super) fn load_needed<R: Rows>(rows: &mut R, loaded: &mut Loaded, request: &Request, now: DateTime<Utc>) -> Decided<()> {
    contract::load(rows, loaded, request, now)?;
    match &request.command {
        Ok(Command::SetStatus { status, announces: None, .. }) => load_blocking(rows, loaded, *status).map(Ok),
        Ok(Command::AddDependency(id)) => load_new(rows, loaded, *id, &request.principal, now),
        Ok(Command::RemoveDependency(id)) => load_old(rows, loaded, *id).map(Ok),
        Ok(_) | Err(_) => Ok(Ok(())),
    }
}

/// Loads the intents that keep this one from getting the status.
fn load_blocking<R: Rows>(rows: &mut R, loaded: &mut Loaded, status: Status) -> RowsResult<()> {
    let completes = status == Status::Completed;
    if !completes && (status != Status::Active || loaded.intent.unmet == 0) {
        return Ok(());
    }
    let limit = u32::try_from(BLOCKING_NAMED_MAX).unwrap_or(u32::MAX);
    let unfinished = rows.reads().unfinished(loaded.row.rid, completes, limit)?;
    let blocking = |(id, status): (IntentId, Status)| Blocking { id, status: status.as_str().to_owned() };
    loaded.intent.blocking = unfinished.into_iter().map(blocking).collect();
    Ok(())
}

/// Loads the intent that is to become a dependency, if the caller may read it.
fn load_new<R: Rows>(rows: &mut R, loaded: &mut Loaded, id: IntentId, principal: &Principal, now: DateTime<Utc>) -> Decided<()> {
    let Ok(row) = readable(rows.reads(), principal, id, now)? else { return Ok(Err(Rejection::NotFound)) };
    let edge = rows.reads().dependency(loaded.row.rid, row.rid)?.map(|is_met| Edge { is_met });
    let mut cycle = Vec::new();
    if edge.is_none() {
        match circle(rows, loaded.row.rid, &[row.rid])? {
            Ok(found) => cycle = found,
            Err(rejection) => return Ok(Err(rejection)),
        }
    }
    loaded.intent.dependencies = rows.reads().depends_on(loaded.row.rid)?.len();
    loaded.upstream = Some(row.rid);
    let status = row.intent.status;
    loaded.intent.upstream =
        Some(Box::new(Upstream { id, status, edge, cycle, askers: Vec::new(), suspended: None, unanswered: None }));
    Ok(Ok(()))
}

/// Loads the dependency that is to be removed. The log of the intent names it, so the caller need not be able to read it.
fn load_old<R: Rows>(rows: &mut R, loaded: &mut Loaded, id: IntentId) -> RowsResult<()> {
    let Some(row) = rows.reads().intent(id)? else { return Ok(()) };
    let edge = rows.reads().dependency(loaded.row.rid, row.rid)?.map(|is_met| Edge { is_met });
    loaded.intent.assigned = rows.reads().assigned(loaded.row.rid)?;
    loaded.upstream = Some(row.rid);
    let mut upstream = Upstream {
        id,
        status: row.intent.status,
        edge,
        cycle: Vec::new(),
        askers: vec![row.intent.created_by.clone()],
        suspended: None,
        unanswered: None,
    };
    if edge.is_some_and(|edge| !edge.is_met) {
        look_for_people(rows, row, &mut upstream)?;
    }
    loaded.intent.upstream = Some(Box::new(upstream));
    Ok(())
}

/// Looks whether the dependency, or an intent that it needs, waits for a person, or has a newest question that ended without an
/// answer. If there are too many intents to look at, the dependency counts as one that waits.
fn look_for_people<R: Rows>(rows: &mut R, dependency: IntentRow, upstream: &mut Upstream) -> RowsResult<()> {
    let mut seen = HashSet::from([dependency.rid]);
    let mut left = vec![dependency];
    while let Some(row) = left.pop() {
        if row.intent.status == Status::SuspendedAwaitingInput || seen.len() > LOOKED_AT_MAX {
            upstream.suspended = Some(row.intent.id);
        }
        if let Some(newest) = row.newest_suspension {
            let newest = rows.reads().suspension_at(newest)?.suspension;
            if newest.ending.is_some_and(|ending| ending.resolution != Resolution::Responded) {
                upstream.unanswered = Some(row.intent.id);
            }
            upstream.askers.push(newest.asked_by);
        }
        if upstream.suspended.is_some() {
            return Ok(());
        }
        let limit = u32::try_from(LOOKED_AT_MAX + 1).unwrap_or(u32::MAX);
        let edges = rows.reads().needs_of(&[row.rid], None, limit)?.into_iter().filter(|edge| !edge.is_met);
        let further: Vec<i64> = edges.map(|edge| edge.needs).filter(|rid| seen.insert(*rid)).collect();
        if !further.is_empty() {
            let further = rows.reads().nodes(&further)?.into_iter().map(|(row, _)| row);
            left.extend(further.filter(|row| row.intent.status != Status::Completed));
        }
    }
    Ok(())
}

/// The dependencies of a new intent, locked. If the intent has a parent as well, the graph is locked, because the parent then
/// needs the new intent, and a circle could be closed.
pub(super) fn needed_by_new<R: Rows>(
    rows: &mut R,
    principal: &Principal,
    depends_on: &[IntentId],
    has_parent: bool,
    now: DateTime<Utc>,
) -> Decided<Vec<Needed>> {
    if depends_on.is_empty() {
        return Ok(Ok(Vec::new()));
    }
    if has_parent {
        rows.lock_graph()?;
    }
    // Every transaction locks several intents in the same order.
    let mut sorted = depends_on.to_vec();
    sorted.sort_unstable();
    let mut found = HashMap::new();
    for id in sorted {
        match readable(rows.reads(), principal, id, now)? {
            Ok(row) => {
                let is_completed = row.intent.status == Status::Completed;
                found.insert(id, Needed { rid: row.rid, id, is_completed });
            }
            Err(_) => return Ok(Err(Rejection::NotFound)),
        }
    }
    Ok(Ok(depends_on.iter().filter_map(|id| found.remove(id)).collect()))
}

/// Refuses a new child of an intent that has ended, and a new child that would need its own parent. Returns the row of the
/// parent.
pub(super) fn parent_of_new<R: Rows>(
    rows: &mut R,
    principal: &Principal,
    parent: Option<IntentId>,
    needed: &[Needed],
    now: DateTime<Utc>,
) -> Decided<Option<i64>> {
    let Some(id) = parent else { return Ok(Ok(None)) };
    let Ok(row) = readable(rows.reads(), principal, id, now)? else { return Ok(Err(Rejection::NotFound)) };
    // A child keeps its parent from being completed, as a dependency would. So adding a child needs the same right as adding a
    // dependency.
    if let Err(rejection) = may(rows.reads(), principal, Action::AddDependency, &row, row.newest_suspension, now)? {
        return Ok(Err(rejection));
    }
    if row.intent.status.is_final() {
        return Ok(Err(Rejection::IntentEnded { status: row.intent.status.as_str().into() }));
    }
    // A child is new work, and none begins in an intent that is stopped.
    if principal.role == Role::Agent
        && let Some((_, stop)) = open_stop(rows.reads(), &row)?
    {
        // The timer of the parent ends a stop whose time is over.
        let is_over = stop.suspension.is_expired(now);
        return Ok(Err(if is_over { StopRefusal::TimeOver } else { StopRefusal::NothingBegins }.into()));
    }
    let needed: Vec<i64> = needed.iter().map(|needed| needed.rid).collect();
    match circle(rows, row.rid, &needed)? {
        Ok(circle) if circle.is_empty() => Ok(Ok(Some(row.rid))),
        Ok(cycle) => Ok(Err(Rejection::DependencyCycle { cycle })),
        Err(rejection) => Ok(Err(rejection)),
    }
}

/// If these events completed the intent, tells its dependents.
pub(super) fn tell_after<R: Rows>(
    rows: &mut R,
    env: &Env<'_>,
    loaded: &Loaded,
    events: &[Event],
    now: DateTime<Utc>,
) -> RowsResult<()> {
    let completes = |event: &Event| matches!(event, Event::StatusChanged { new: Status::Completed, .. });
    if events.iter().any(completes) && !tell(rows, env, (loaded.row.rid, loaded.intent.id), now)? {
        rows.insert_completion(loaded.row.rid)?;
        rows.notice(Notice::Timer);
    }
    Ok(())
}

/// Tells dependents that could not be told in the transaction that completed their dependency. Returns 1 if there was a completed
/// intent with such dependents, else 0.
pub(super) fn tell_the_rest<R: Rows>(rows: &mut R, env: &Env<'_>, now: DateTime<Utc>) -> RowsResult<usize> {
    let Some(rid) = rows.reads().completions(1)?.pop() else { return Ok(0) };
    let row = rows.reads().intent_at(rid)?;
    if tell(rows, env, (rid, row.intent.id), now)? {
        rows.delete_completion(rid)?;
    }
    Ok(1)
}

/// Tells dependents that an intent is completed, as many as one transaction may; returns whether no more wait.
fn tell<R: Rows>(rows: &mut R, env: &Env<'_>, (needed, id): (i64, IntentId), now: DateTime<Utc>) -> RowsResult<bool> {
    let waiting = rows.reads().waiting(needed, TOLD_AT_ONCE + 1)?;
    let at_once = TOLD_AT_ONCE as usize;
    for dependent in waiting.iter().take(at_once) {
        match waiting_intent(rows, *dependent) {
            Ok(mut loaded) => {
                loaded.upstream = Some(needed);
                act(rows, env, &mut loaded, &Command::DependencyCompleted(id), now)?;
            }
            // An intent that cannot be read stays blocked, and is not told again. Its error must not end this transaction, which
            // tells other dependents and, in the deadline loop, also fires deadlines.
            Err(error) if error.is_unreadable() => {
                tracing::error!(intent.rid = dependent, "a waiting intent cannot be read, and stays blocked");
                rows.meet_dependency(*dependent, needed)?;
            }
            Err(error) => return Err(error),
        }
    }
    Ok(waiting.len() <= at_once)
}

/// An intent that waits for others, with the agents that are told when it goes on.
fn waiting_intent<R: Rows>(rows: &mut R, rid: i64) -> RowsResult<Loaded> {
    let row = rows.reads().intent_at(rid)?;
    let mut loaded = load(rows, row, None)?;
    loaded.intent.assigned = rows.reads().assigned(rid)?;
    Ok(loaded)
}
