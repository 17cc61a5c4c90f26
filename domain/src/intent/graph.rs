//! Decides which intents an intent waits for, and when it goes on (RFC-0002). An intent with a dependency that is not completed is never
//! active.

use crate::base::ids::IntentId;
use crate::base::text::is_blank;
use crate::intent::Intent;
use crate::intent::dependency::{
    BlockedReason, DEPENDENCIES_MAX, DependencyAdded, DependencyEvent, DependencyMet, DependencyRemoved, Edge,
};
use crate::intent::event::Event;
use crate::intent::refusal::Refusal;
use crate::intent::status::Status;
use crate::people::authority::is_at_one;
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;

/// Adds the dependency that the store has loaded as `upstream`.
pub(super) fn add(intent: &Intent, by: &Principal) -> Result<Vec<Event>, Refusal> {
    let upstream = intent.upstream.as_deref().ok_or(Rejection::NotFound)?;
    if intent.status.is_final() {
        return Err(Rejection::IntentEnded { status: intent.status.as_str().into() }.into());
    }
    if upstream.edge.is_some() {
        return Err(Rejection::DependencyExists.into());
    }
    if !upstream.cycle.is_empty() {
        return Err(Rejection::DependencyCycle { cycle: upstream.cycle.clone() }.into());
    }
    if intent.dependencies >= DEPENDENCIES_MAX {
        let message = format!("an intent has at most {DEPENDENCIES_MAX} dependencies; remove one first");
        return Err(Rejection::invalid("dependency_id", "count", message).into());
    }
    let completed = upstream.status == Status::Completed;
    let mut events = vec![added(upstream.id, completed, by)];
    if !completed && intent.status == Status::Active {
        events.push(blocked(intent.status));
    }
    Ok(events)
}

/// The events that follow the creation of an intent with these dependencies. The `bool` beside an id says whether that dependency
/// is completed. `status` is the first status of the intent.
pub fn depending(status: Status, dependencies: &[(IntentId, bool)], by: &Principal) -> Vec<Event> {
    let mut events: Vec<_> = dependencies.iter().map(|(id, completed)| added(*id, *completed, by)).collect();
    if status == Status::Active && dependencies.iter().any(|(_, completed)| !completed) {
        events.push(blocked(status));
    }
    events
}

fn added(dependency_id: IntentId, completed: bool, by: &Principal) -> Event {
    let added = DependencyAdded { dependency_id, completed, credential: by.credential };
    Event::Dependency(Box::new(DependencyEvent::Added(added)))
}

fn blocked(old: Status) -> Event {
    Event::StatusChanged {
        old,
        new: Status::Blocked,
        reason: Some("dependencies_incomplete".into()),
        blocked_reason: Some(BlockedReason::Dependencies),
        overrides: Vec::new(),
    }
}

/// Removes the dependency that the store has loaded as `upstream`. An agent may not remove a dependency that is not completed if
/// it, or an intent that it needs, waits for a person, or if the last question of one of them ended without a person's answer.
/// Otherwise the agent's intent would go on without that person. The same rule holds for a key of the owner of the intent's
/// creator, or of the owner of one of `upstream.askers`.
pub(super) fn remove(intent: &Intent, by: &Principal) -> Result<Vec<Event>, Refusal> {
    let upstream = intent.upstream.as_deref().ok_or(Rejection::NotFound)?;
    let Edge { is_met } = upstream.edge.ok_or(Rejection::NotFound)?;
    if !is_met && (!decides_for_others(intent, by) || upstream.askers.iter().any(|asker| is_at_one(by, asker))) {
        if let Some(suspended_intent_id) = upstream.suspended {
            return Err(Rejection::UpstreamSuspended { suspended_intent_id }.into());
        }
        if let Some(unanswered_intent_id) = upstream.unanswered {
            return Err(Rejection::UpstreamUnanswered { unanswered_intent_id }.into());
        }
    }
    let unblocked = unblocked(intent, intent.unmet.saturating_sub(u32::from(!is_met)), "dependency_removed");
    let agents = told(intent, unblocked.as_ref());
    let removed = DependencyRemoved { dependency_id: upstream.id, completed: is_met, agents, credential: by.credential };
    Ok(std::iter::once(Event::Dependency(Box::new(DependencyEvent::Removed(removed)))).chain(unblocked).collect())
}

/// Records that a dependency was completed. If it was the last one, and nothing else blocks the intent, the intent is active again.
pub(super) fn met(intent: &Intent, dependency_id: IntentId) -> Vec<Event> {
    let unblocked = unblocked(intent, intent.unmet.saturating_sub(1), "dependencies_completed");
    let agents = told(intent, unblocked.as_ref());
    let met = DependencyEvent::Met(DependencyMet { dependency_id, agents });
    std::iter::once(Event::Dependency(Box::new(met))).chain(unblocked).collect()
}

/// The agents that are told that the intent is active again.
fn told(intent: &Intent, unblocked: Option<&Event>) -> Vec<String> {
    unblocked.map(|_| intent.assigned.clone()).unwrap_or_default()
}

/// The event that sets an intent active that was blocked by its dependencies. `None` if `left` of them are still not completed,
/// if an agent has blocked the intent, too, if it is stopped, or if it was not blocked by dependencies.
fn unblocked(intent: &Intent, left: u32, reason: &str) -> Option<Event> {
    let was_waiting = intent.status == Status::Blocked && intent.unmet > 0;
    (was_waiting && left == 0 && !intent.is_held && intent.stop.is_none()).then(|| Event::StatusChanged {
        old: intent.status,
        new: Status::Active,
        reason: Some(reason.into()),
        blocked_reason: None,
        overrides: Vec::new(),
    })
}

/// Refuses to complete an intent while a dependency or a child is not completed. A person may complete it nevertheless, with a
/// reason. The event then lists the returned ids, which are those of the intents that are not completed.
pub(super) fn may_complete(intent: &Intent, reason: Option<&str>, by: &Principal) -> Result<Vec<IntentId>, Refusal> {
    if by.role != Role::Agent && intent.blocking.is_empty() {
        let reason = "a person completes an intent only if it waits for intents that are not completed";
        return Err(Rejection::Forbidden { reason: reason.into() }.into());
    }
    if by.role != Role::Agent && reason.is_none_or(is_blank) {
        return Err(Rejection::invalid("reason", "required", "a person who completes an intent must say why").into());
    }
    if intent.blocking.is_empty() || decides_for_others(intent, by) {
        return Ok(intent.blocking.iter().map(|blocking| blocking.id).collect());
    }
    Err(incomplete(intent))
}

/// Whether the principal may let the intent go on without the intents that it needs: a person may, unless the person is the owner of
/// the agent that created the intent.
fn decides_for_others(intent: &Intent, by: &Principal) -> bool {
    by.role != Role::Agent && !is_at_one(by, &intent.created_by)
}

/// Refuses to set a blocked intent active while a dependency is not completed.
pub(super) fn may_go_on(intent: &Intent) -> Result<(), Refusal> {
    if intent.status == Status::Blocked && intent.unmet > 0 { Err(incomplete(intent)) } else { Ok(()) }
}

fn incomplete(intent: &Intent) -> Refusal {
    Rejection::DependenciesIncomplete { blocking_intents: intent.blocking.clone() }.into()
}
