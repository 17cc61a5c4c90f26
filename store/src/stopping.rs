//! The right to stop the work on an intent, and to let it go on: the facts on which that depends, and the decision.

use chrono::{DateTime, Utc};
use domain::base::name::{form, is_same_in_any_case};
use domain::intent::Intent;
use domain::people::access::Permission;
use domain::people::answerer::answers_for;
use domain::people::authority::{Action, Object, authorize};
use domain::people::principal::{Principal, Role};
use domain::people::stopping::{Stopped, Work};
use domain::suspension::demand::AgentRule;
use domain::suspension::stop::Stop;
use domain::suspension::{Asker, Kind};

use crate::assigning::owns;
use crate::reads::is_at_home;
use crate::rows::prelude::*;
use crate::rows::{Decided, EdgeKind, IntentRow, RowsResult};

/// Decides whether a principal may stop the work on an intent, or let it go on. The intent comes with its agents and entries, as far as the
/// decision depends on them.
pub(crate) fn may<R: ReadRows>(
    rows: &mut R,
    (rid, intent): (i64, &Intent),
    stop: Option<&Stop>,
    (principal, action): (&Principal, Action),
    rules: &[AgentRule],
    now: DateTime<Utc>,
) -> Decided<()> {
    let parent = if is_at_home(principal, intent) { None } else { parent_of(rows, rid)? };
    let workers = if action == Action::Resume { workers(rows, rid, stop, now)? } else { Vec::new() };
    let is_kept_apart = action == Action::Resume && is_kept_apart(rows, rules, (&intent.created_by, &workers), principal)?;
    let stopped = stop.map(|stop| Stopped { kind: stop.suspension.kind, by: stop.holder() });
    let work = Work {
        created_by: &intent.created_by,
        parent_created_by: parent.as_ref(),
        assigned: &intent.assigned,
        entries: &intent.entries,
        workers: &workers,
        stopped,
        is_kept_apart,
    };
    Ok(authorize(principal, action, Object::Work(work)))
}

/// Whether a principal may let a stopped intent go on, as far as no rule of the operator keeps it apart from the agent. No principal lets work
/// go on that is being ended.
pub(crate) fn may_resume<R: ReadRows>(
    rows: &mut R,
    row: &IntentRow,
    stop: &Stop,
    principal: &Principal,
    now: DateTime<Utc>,
) -> RowsResult<bool> {
    if !stop.can_go_on() {
        return Ok(false);
    }
    let mut intent = row.intent.clone();
    if !is_at_home(principal, &intent) {
        intent.assigned = rows.assigned(row.rid)?;
        intent.entries = rows.entries(row.rid)?.into_iter().map(|row| row.entry).filter(|entry| entry.is_in_force(now)).collect();
    }
    Ok(may(rows, (row.rid, &intent), Some(stop), (principal, Action::Resume), &[], now)?.is_ok())
}

/// Whether the principal is the person who owns one of these agents, and a rule keeps the owner of that agent apart.
fn is_kept_apart<R: ReadRows>(
    rows: &mut R,
    rules: &[AgentRule],
    (creator, workers): (&Asker, &[Asker]),
    principal: &Principal,
) -> RowsResult<bool> {
    let has_rule =
        |agent: &&Asker| rules.iter().any(|rule| rule.separation.is_some() && is_same_in_any_case(&rule.name, &agent.name));
    let apart: Vec<&Asker> = std::iter::once(creator).chain(workers).filter(has_rule).collect();
    match answers_for(principal, None).filter(|_| !apart.is_empty()) {
        Some(address) => owns(rows, &apart, &address),
        None => Ok(false),
    }
}

/// The agents' keys by which the intent is worked on: those of the agents that are assigned to it, and of those that may write it by an
/// entry. While it is paused, those that have left since count as well: an agent that leaves must not free its owner to let the work go on.
fn workers<R: ReadRows>(rows: &mut R, rid: i64, stop: Option<&Stop>, now: DateTime<Utc>) -> RowsResult<Vec<Asker>> {
    let paused = stop.map(|stop| &stop.suspension).filter(|suspension| suspension.kind == Kind::Paused);
    let since = paused.map_or(now, |suspension| suspension.suspended_at.min(now));
    let mut names = rows.assigned(rid)?;
    for row in rows.entries(rid)? {
        if row.entry.permission >= Permission::Write && row.entry.is_in_force(since) {
            names.push(row.entry.principal_id);
        }
    }
    let mut keys = keys_of(rows, &names)?;
    if let Some(row) = paused.map(|suspension| rows.any_suspension(suspension.id)).transpose()?.flatten() {
        keys.extend(rows.departed(row.rid)?);
    }
    Ok(keys)
}

/// The keys of the agents with these names. A revoked key counts: its owner is the agent's all the same.
pub(crate) fn keys_of<R: ReadRows>(rows: &mut R, names: &[String]) -> RowsResult<Vec<Asker>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<String> = names.iter().map(|name| form(name)).collect();
    // A key acts for the agents below its name as well, as `Principal::may_act_for` says.
    let is_below = |name: &str, own: &str| name.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let mut keys = rows.keys()?;
    keys.retain(|key| {
        let (own, subject) = (form(&key.name), form(&key.subject));
        key.role == Role::Agent && names.iter().any(|name| is_below(name, &own) || *name == subject)
    });
    Ok(keys.into_iter().map(|key| Asker { name: key.name, owner: key.owner }).collect())
}

/// The creator of the parent of the intent.
fn parent_of<R: ReadRows>(rows: &mut R, rid: i64) -> RowsResult<Option<Asker>> {
    Ok(parent(rows, rid)?.map(|parent| parent.intent.created_by))
}

/// The parent of the intent in this row.
pub(crate) fn parent<R: ReadRows>(rows: &mut R, rid: i64) -> RowsResult<Option<IntentRow>> {
    let edges = rows.needing(&[rid], Some(EdgeKind::Child), 1)?;
    edges.first().map(|edge| rows.intent_at(edge.intent)).transpose()
}
