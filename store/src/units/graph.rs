//! The intents that an intent needs: their edges, and what becomes of the dependents of an intent that is completed (RFC-0002).
//!
//! Guarantee: an intent with a dependency that is not completed is never active, and no intents wait for each other in a circle.
//! Mechanism: an edge is added while both intents and the graph are locked. A completed intent tells its dependents in its own
//! transaction, up to a number; the deadline loop tells the rest. An intent that is needed is locked before the intent that needs
//! it, so the two never wait for each other. Failure: a dependent that has not been told yet stays blocked, and a row says that it
//! has to be told.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use chrono::{DateTime, Utc};
use domain::base::ids::IntentId;
use domain::intent::command::Command;
use domain::intent::dependency::{BLOCKING_NAMED_MAX, Edge, Upstream};
use domain::intent::event::Event;
use domain::intent::status::Status;
use domain::people::authority::Action;
use domain::people::principal::Principal;
use domain::problem::{Blocking, Rejection};
use domain::suspension::Resolution;

use super::act::act;
use super::loaded::{Loaded, load};
use crate::hub::Notice;
use crate::reads::{may, readable};
use crate::request::Request;
use crate::rows::prelude::*;
use crate::rows::{Decided, EdgeRow, IntentRow, RowsResult};
use crate::surroundings::Env;

/// How many dependents one transaction tells that an intent is completed.
pub(crate) const TOLD_AT_ONCE: u32 = 100;
/// How many edges one step of a search for a circle reads at most.
const EDGES_SEARCHED_MAX: u32 = 100_000;
/// Of how many intents one query reads the edges.
const AT_ONCE: usize = 500;

/// A dependency of a new intent.
pub(super) struct Needed {
    pub(super) rid: i64,
    pub(super) id: IntentId,
    pub(super) is_completed: bool,
}

/// Locks what a command about a dependency needs, before the intent itself is locked.
pub(super) fn lock<R: Rows>(rows: &mut R, request: &Request) -> RowsResult<()> {
    let Ok(command) = &request.command else { return Ok(()) };
    let Some(dependency) = command.names_dependency() else { return Ok(()) };
    if matches!(command, Command::AddDependency(_)) {
        rows.lock_graph()?;
    }
    rows.reads().intent(dependency)?;
    Ok(())
}

/// Loads the facts about other intents that a command needs.
pub(super) fn load_needed<R: Rows>(rows: &mut R, loaded: &mut Loaded, request: &Request, now: DateTime<Utc>) -> Decided<()> {
    let (rid, blocking_max) = (loaded.row.rid, u32::try_from(BLOCKING_NAMED_MAX).unwrap_or(u32::MAX));
    let Ok(command) = &request.command else { return Ok(Ok(())) };
    if let Command::SetStatus { status: status @ (Status::Completed | Status::Active), announces: None, .. } = command
        && (*status == Status::Completed || loaded.intent.unmet > 0)
    {
        let unfinished = rows.reads().unfinished(rid, *status == Status::Completed, blocking_max)?;
        let blocking = |(id, status): (IntentId, Status)| Blocking { id, status: status.as_str().to_owned() };
        loaded.intent.blocking = unfinished.into_iter().map(blocking).collect();
    }
    let Some(dependency) = command.names_dependency() else { return Ok(Ok(())) };
    let Some(row) = rows.reads().intent(dependency)? else { return Ok(Ok(())) };
    let adds = matches!(command, Command::AddDependency(_));
    // The log of the intent names its dependencies, so only a new one can be a secret to the caller.
    if adds && may(rows.reads(), &request.principal, Action::Read, &row, row.newest_suspension, now)?.is_err() {
        return Ok(Ok(()));
    }
    let edge = rows.reads().dependency(rid, row.rid)?.map(|is_met| Edge { is_met });
    let mut circle = Vec::new();
    if adds && edge.is_none() {
        match cycle(rows, rid, &[row.rid])? {
            Ok(found) => circle = found,
            Err(rejection) => return Ok(Err(rejection)),
        }
    }
    loaded.intent.dependencies = rows.reads().depends_on(rid)?.len();
    loaded.upstream = Some(row.rid);
    if !adds {
        loaded.intent.assigned = rows.reads().assigned(rid)?;
    }
    loaded.intent.upstream = Some(Box::new(Upstream {
        id: dependency,
        status: row.intent.status,
        edge,
        cycle: circle,
        went_unanswered: went_unanswered(rows, &row)?,
    }));
    Ok(Ok(()))
}

/// Whether the last question of an intent ended, and no person had answered it.
fn went_unanswered<R: Rows>(rows: &mut R, row: &IntentRow) -> RowsResult<bool> {
    let Some(newest) = row.newest_suspension else { return Ok(false) };
    let ending = rows.reads().suspension_at(newest)?.suspension.ending;
    Ok(ending.is_some_and(|ending| ending.resolution != Resolution::Responded))
}

/// The dependencies of a new intent, locked. If the intent has a parent, the graph is locked as well, because the parent then needs
/// the new intent.
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

/// Refuses a new child of an intent that has ended, or one that would need its own parent. Returns the row of the parent.
pub(super) fn parent_of_new<R: Rows>(
    rows: &mut R,
    principal: &Principal,
    parent: Option<IntentId>,
    needed: &[Needed],
    now: DateTime<Utc>,
) -> Decided<Option<i64>> {
    let Some(id) = parent else { return Ok(Ok(None)) };
    let Ok(row) = readable(rows.reads(), principal, id, now)? else { return Ok(Err(Rejection::NotFound)) };
    if row.intent.status.is_final() {
        return Ok(Err(Rejection::IntentEnded { status: row.intent.status.as_str().into() }));
    }
    let needed: Vec<i64> = needed.iter().map(|needed| needed.rid).collect();
    match cycle(rows, row.rid, &needed)? {
        Ok(circle) if circle.is_empty() => Ok(Ok(Some(row.rid))),
        Ok(cycle) => Ok(Err(Rejection::DependencyCycle { cycle })),
        Err(rejection) => Ok(Err(rejection)),
    }
}

/// The circle that would be closed if `waiting` needed these intents: the ids on it, from `waiting` to `waiting`. Empty if there is none.
///
/// The search goes down to the intents that are needed and up to those that need `waiting`, and always takes the smaller side: a new
/// intent is needed by none, and an old one seldom needs many.
fn cycle<R: Rows>(rows: &mut R, waiting: i64, needed: &[i64]) -> Decided<Vec<IntentId>> {
    // For each intent that was found: the one before it on the way. The ways begin at `needed` and at `waiting`.
    let mut below: HashMap<i64, Option<i64>> = needed.iter().map(|needed| (*needed, None)).collect();
    let mut above: HashMap<i64, Option<i64>> = HashMap::from([(waiting, None)]);
    let (mut down, mut up) = (needed.to_vec(), vec![waiting]);
    loop {
        if let Some(meeting) = below.keys().copied().find(|rid| above.contains_key(rid)) {
            let rids = [vec![waiting], way(&below, meeting).rev().collect(), way(&above, meeting).skip(1).collect()].concat();
            let ids: RowsResult<_> = rids.into_iter().map(|rid| Ok(rows.reads().intent_at(rid)?.intent.id)).collect();
            return Ok(Ok(ids?));
        }
        if down.is_empty() || up.is_empty() {
            return Ok(Ok(Vec::new()));
        }
        let goes_down = down.len() <= up.len();
        let (frontier, seen) = if goes_down { (&mut down, &mut below) } else { (&mut up, &mut above) };
        for part in std::mem::take(frontier).chunks(AT_ONCE) {
            let edges = if goes_down {
                rows.reads().needs_of(part, None, EDGES_SEARCHED_MAX)?
            } else {
                rows.reads().needing(part, None, EDGES_SEARCHED_MAX)?
            };
            if edges.len() >= EDGES_SEARCHED_MAX as usize {
                let message = format!("cannot be checked: more than {EDGES_SEARCHED_MAX} edges lie between the two intents");
                return Ok(Err(Rejection::invalid("dependency_id", "count", message)));
            }
            for EdgeRow { intent, needs, .. } in edges {
                let (from, to) = if goes_down { (intent, needs) } else { (needs, intent) };
                if let Entry::Vacant(new) = seen.entry(to) {
                    new.insert(Some(from));
                    frontier.push(to);
                }
            }
        }
    }
}

/// The intents on the way from `at` back to where a search began.
fn way(before: &HashMap<i64, Option<i64>>, at: i64) -> std::vec::IntoIter<i64> {
    let way: Vec<i64> = std::iter::successors(Some(at), |at| before.get(at).copied().flatten()).collect();
    way.into_iter()
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

/// Tells dependents that could not be told in the transaction that completed their dependency. Returns the number of completed intents
/// that were looked at.
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
        let row = rows.reads().intent_at(*dependent)?;
        let mut loaded = load(rows, row, None)?;
        loaded.upstream = Some(needed);
        loaded.intent.assigned = rows.reads().assigned(*dependent)?;
        act(rows, env, &mut loaded, &Command::DependencyCompleted(id), now)?;
    }
    Ok(waiting.len() <= at_once)
}
