//! Applies events to the intent.

use chrono::{DateTime, Utc};

use crate::base::ids::SuspensionId;
use crate::container::plan_event::follow_task;
use crate::intent::Intent;
use crate::intent::access::AccessEvent;
use crate::intent::assignment::Unassigned;
use crate::intent::dependency::{BlockedReason, DependencyEvent};
use crate::intent::event::{AnswerCounted, AnswerTakenBack, Event, Extended, Renotified, ending_of};
use crate::intent::hands::HandsEvent;
use crate::intent::record::Record;
use crate::intent::retry::Retry;
use crate::intent::status::Status;
use crate::portfolio::membership::{Added, Membership};
use crate::suspension::delivery::Delivery;
use crate::suspension::hands::Hands;
use crate::suspension::lease::Lease;
use crate::suspension::quorum::Counted;
use crate::suspension::{Question, Suspension};

/// Applies one event to the intent; the state that a store keeps is exactly the result of all events.
///
/// `dated` is the event's own time, which is never before the time of the event it follows; `now` is the clock's time, by
/// which deadlines are judged.
pub fn evolve(intent: &mut Intent, event: &Event, now: DateTime<Utc>, dated: DateTime<Utc>) {
    intent.updated_at = dated;
    match event {
        // A new intent has version 1 already; see `Intent::born`.
        Event::IntentCreated(..)
        | Event::Violated(_)
        | Event::Receipt(_)
        | Event::AnsweredUnasked(_)
        | Event::Adopted { .. }
        | Event::AskerWentOn { .. }
        | Event::Appended(_)
        | Event::DeliveryFailed(_)
        | Event::DeliveryFailover(_)
        | Event::DeliveryRedriven { .. }
        | Event::Member(_)
        | Event::SuspensionEscalated { .. } => {}
        Event::SuspensionRenotified(renotified) => renotify(intent, renotified),
        Event::SuspensionReminded(reminded) => {
            if let Some(open) = intent.opened_mut(reminded.suspension_id) {
                open.reminded_at = Some(now);
            }
        }
        Event::SuspensionExtended(extended) => extend(intent, extended),
        Event::StatePatched(_) => intent.version += 1,
        Event::PolicyChanged { policy, version } => {
            intent.governance.policy.clone_from(policy);
            intent.version = *version;
        }
        Event::Announced(announced) => intent.announcement = Some((**announced).clone()),
        Event::StatusChanged { new, blocked_reason, .. } => set_status(intent, *new, *blocked_reason),
        Event::Dependency(change) => depend(intent, change),
        Event::Task(change) => {
            intent.has_tasks = true;
            follow_task(change, &mut intent.tasks, &mut intent.plans, dated);
        }
        Event::Plan(change) => {
            intent.has_tasks = true;
            change.apply(&mut intent.plans, &mut intent.tasks, dated);
        }
        Event::Coordinator(change) => {
            intent.has_tasks = true;
            change.apply(&mut intent.coordinator, dated);
        }
        Event::Retry(change) => change.apply(&mut intent.retry),
        Event::Recorded(record) => keep(intent, record),
        Event::Suspended(suspension, question) => ask(intent, suspension, question),
        Event::Resumed(_)
        | Event::SuspensionExpired(_)
        | Event::SuspensionUndeliverable { .. }
        | Event::SuspensionCancelled { .. } => end(intent, event, dated),
        Event::AnswerCounted(counted) => count(intent, counted),
        Event::AnswerTakenBack(taken) => discount(intent, taken),
        Event::Hands(change) => hand(intent, change, dated),
        Event::Stop(change) => change.apply(intent, dated),
        Event::LateAnswer(refused) | Event::ResponseRejected(refused) => count_refusal(intent, refused.suspension_id),
        Event::AgentAssigned(assigned) => {
            assign(intent, &assigned.agent_id);
            if let Some(retry) = &mut intent.retry {
                retry.forget(&assigned.agent_id);
            }
        }
        Event::AgentUnassigned(Unassigned { agent_id }) => intent.assigned.retain(|assigned| assigned != agent_id),
        Event::Access(change) => change_access(intent, change),
        Event::Joined(added) => place(intent, Some(added), dated),
        Event::Left(_) => place(intent, None, dated),
        Event::LeaseAcquired(lease) => intent.leases.push((**lease).clone()),
        Event::LeaseRenewed(lease) | Event::LeaseReleased(lease) => replace_lease(intent, lease),
        Event::DeliverySent { delivery, reached } | Event::DeliveryBounced { delivery, reached } => {
            set_reached(intent, delivery, *reached, now);
        }
    }
}

/// Applies the next attempt of a question.
fn renotify(intent: &mut Intent, renotified: &Renotified) {
    if let Some(open) = intent.opened_mut(renotified.suspension_id) {
        open.attempt = renotified.attempt;
        open.version += 1;
    }
}

/// Counts an answer towards the quorum of its question, in place of the one that the person has given before.
fn count(intent: &mut Intent, counted: &AnswerCounted) {
    let Some(open) = intent.opened_mut(counted.answer.suspension_id) else { return };
    open.counted.retain(|other| other.person != counted.person && !counted.clears.contains(&other.person));
    open.counted.push(Counted {
        person: counted.person.clone(),
        id: None,
        value: counted.answer.ending.response.clone().unwrap_or_default(),
        action: counted.answer.action.clone(),
        at: counted.answer.ending.at,
        gateway: counted.gateway,
        groups: Vec::new(),
        may_answer: true,
        in_place_of: counted.answer.in_place_of.clone(),
    });
    open.version += 1;
}

/// Does not count a person's answer any more.
fn discount(intent: &mut Intent, taken: &AnswerTakenBack) {
    if let Some(open) = intent.opened_mut(taken.suspension_id) {
        open.counted.retain(|counted| counted.person != taken.person);
        open.version += 1;
    }
}

/// Changes in whose hands a question is.
fn hand(intent: &mut Intent, change: &HandsEvent, dated: DateTime<Utc>) {
    if let Some(open) = intent.opened_mut(change.suspension_id()) {
        change.apply(&mut open.hands, dated);
        open.version += 1;
    }
}

/// Moves the deadline of a question.
fn extend(intent: &mut Intent, extended: &Extended) {
    if let Some(open) = intent.opened_mut(extended.suspension_id) {
        open.expires_at = Some(extended.new_expires_at);
        open.version += 1;
    }
}

/// Keeps the part of a record that decisions need: the retry policy.
fn keep(intent: &mut Intent, record: &Record) {
    if let Record::RetryPolicy(policy) = record {
        intent.has_tasks = true;
        // An agent that sets its policy at every start keeps its count.
        if intent.retry.as_ref().is_none_or(|retry| retry.policy != *policy) {
            intent.retry = Some(Box::new(Retry::under(policy.clone())));
        }
    }
}

/// Changes the status. If the new status is `blocked`, `blocked_reason` is present when the server blocks the intent, and absent
/// when an agent does.
fn set_status(intent: &mut Intent, new: Status, blocked_reason: Option<BlockedReason>) {
    intent.is_held = new == Status::Blocked && blocked_reason.is_none();
    if new != Status::SuspendedAwaitingInput {
        intent.announcement = None;
    }
    if let Some(retry) = intent.retry.as_mut().filter(|_| new.is_final()) {
        retry.stop();
    }
    intent.status = new;
    intent.version += 1;
}

fn replace_lease(intent: &mut Intent, lease: &Lease) {
    for held in intent.leases.iter_mut().filter(|held| held.id == lease.id) {
        held.clone_from(lease);
    }
}

fn assign(intent: &mut Intent, agent_id: &str) {
    if !intent.assigned.iter().any(|assigned| assigned == agent_id) {
        intent.assigned.push(agent_id.to_owned());
    }
}

fn count_refusal(intent: &mut Intent, id: SuspensionId) {
    for suspension in intent.open.iter_mut().chain(&mut intent.beside).chain(&mut intent.ended) {
        suspension.refusals += u32::from(suspension.id == id);
    }
}

fn depend(intent: &mut Intent, change: &DependencyEvent) {
    intent.unmet = change.left_of(intent.unmet);
    // A change of the list of dependencies makes a new version of the intent, as a change of its state does. `Met` changes only
    // what this intent knows about another one.
    if !matches!(change, DependencyEvent::Met(_)) {
        intent.version += 1;
    }
}

fn ask(intent: &mut Intent, suspension: &Suspension, question: &Question) {
    intent.is_errand |= question.errand.is_some();
    if suspension.kind.stops_intent() {
        intent.announcement = None;
        intent.open = Some(suspension.clone());
    } else {
        intent.beside.push(suspension.clone());
    }
}

/// Puts the intent into the portfolio that the command names, or takes it out.
fn place(intent: &mut Intent, added: Option<&Added>, dated: DateTime<Utc>) {
    intent.is_grouped = true;
    let Some(joined) = &mut intent.portfolio else { return };
    let before = joined.membership;
    joined.membership = added.map(|&Added { id, role, priority, .. }| {
        let added_at = before.map_or(dated, |membership| membership.added_at);
        Membership { id, role, priority, added_at }
    });
}

fn change_access(intent: &mut Intent, change: &AccessEvent) {
    match change {
        AccessEvent::Granted(granted) => {
            intent.entries.retain(|entry| entry.principal_id != granted.principal_id);
            intent.entries.push(granted.entry());
        }
        AccessEvent::Revoked(removed) | AccessEvent::Expired(removed) => intent.entries.retain(|entry| entry.id != removed.id),
        AccessEvent::Requested(requested, requested_by) => intent.requests.push(requested.opened(requested_by)),
        AccessEvent::Approved(decided) | AccessEvent::Denied(decided) => {
            intent.requests.retain(|request| request.id != decided.request_id);
        }
    }
}

/// Sets `reached`, but only before the deadline: `reached` decides how the question ends, and that decision must not change.
fn set_reached(intent: &mut Intent, delivery: &Delivery, reached: bool, now: DateTime<Utc>) {
    if let Some(open) = intent.opened_mut(delivery.suspension_id).filter(|open| !open.is_expired(now)) {
        open.reached = reached;
    }
}

fn end(intent: &mut Intent, event: &Event, now: DateTime<Utc>) {
    let Some((id, ending)) = ending_of(event, now) else { return };
    let beside = intent.beside.iter().position(|open| open.id == id).map(|index| intent.beside.swap_remove(index));
    let Some(mut suspension) = intent.open.take_if(|open| open.id == id).or(beside) else { return };
    suspension.version += 1;
    suspension.ending = Some(ending);
    if suspension.kind.stops_intent() {
        for lease in &mut intent.leases {
            lease.outlive_suspension(suspension.suspended_at, now);
        }
        if let Some(coordinator) = &mut intent.coordinator {
            coordinator.silent_since = coordinator.silent_since.max(now);
        }
    }
    suspension.counted.clear();
    suspension.hands = Hands::default();
    intent.ended.push(suspension);
}
