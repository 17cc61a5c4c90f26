//! Applies events to the intent.

use chrono::{DateTime, Utc};

use crate::intent::Intent;
use crate::intent::assignment::Unassigned;
use crate::intent::event::{Event, ending_of};
use crate::suspension::Ending;
use crate::suspension::delivery::Delivery;

/// Applies one event to the intent; the state that a store keeps is exactly the result of all events.
///
/// `dated` is the event's own time, which is never before the time of the event it follows; `now` is the clock's time, by
/// which deadlines are judged.
pub fn evolve(intent: &mut Intent, event: &Event, now: DateTime<Utc>, dated: DateTime<Utc>) {
    intent.updated_at = dated;
    match event {
        // A new intent has version 1 already; see `Intent::born`.
        Event::IntentCreated(..)
        | Event::Recorded(_)
        | Event::Appended(_)
        | Event::DeliveryFailed(_)
        | Event::DeliveryFailover(_)
        | Event::DeliveryRedriven { .. }
        | Event::SuspensionEscalated { .. } => {}
        Event::SuspensionRenotified(renotified) => {
            if let Some(open) = intent.open.as_mut().filter(|open| open.id == renotified.suspension_id) {
                open.attempt = renotified.attempt;
                open.version += 1;
            }
        }
        Event::SuspensionReminded(reminded) => {
            if let Some(open) = intent.open.as_mut().filter(|open| open.id == reminded.suspension_id) {
                open.reminded_at = Some(now);
            }
        }
        Event::SuspensionExtended(extended) => {
            if let Some(open) = intent.open.as_mut().filter(|open| open.id == extended.suspension_id) {
                open.expires_at = Some(extended.new_expires_at);
                open.version += 1;
            }
        }
        Event::StatePatched(_) => intent.version += 1,
        Event::StatusChanged { new, .. } => {
            intent.status = *new;
            intent.version += 1;
        }
        Event::Suspended(suspension, _) => intent.open = Some((**suspension).clone()),
        Event::Resumed(_)
        | Event::SuspensionExpired { .. }
        | Event::SuspensionUndeliverable { .. }
        | Event::SuspensionCancelled { .. } => end(intent, ending_of(event, dated), dated),
        Event::LateAnswer(refused) | Event::ResponseRejected(refused) => {
            for suspension in intent.open.iter_mut().chain(&mut intent.ended) {
                if suspension.id == refused.suspension_id {
                    suspension.refusals += 1;
                }
            }
        }
        Event::AgentAssigned(assigned) => {
            if !intent.assigned.contains(&assigned.agent_id) {
                intent.assigned.push(assigned.agent_id.clone());
            }
        }
        Event::AgentUnassigned(Unassigned { agent_id }) => intent.assigned.retain(|assigned| assigned != agent_id),
        Event::LeaseAcquired(lease) => intent.leases.push((**lease).clone()),
        Event::LeaseRenewed(lease) | Event::LeaseReleased(lease) => {
            for held in &mut intent.leases {
                if held.id == lease.id {
                    held.clone_from(lease);
                }
            }
        }
        Event::DeliverySent { delivery, reached } | Event::DeliveryBounced { delivery, reached } => {
            set_reached(intent, delivery, *reached, now);
        }
    }
}

/// Only before the deadline: the decision about an ended question stands.
fn set_reached(intent: &mut Intent, delivery: &Delivery, reached: bool, now: DateTime<Utc>) {
    if let Some(open) = intent.open.as_mut().filter(|open| open.id == delivery.suspension_id && !open.is_expired(now)) {
        open.reached = reached;
    }
}

fn end(intent: &mut Intent, ending: Option<Ending>, now: DateTime<Utc>) {
    let (Some(ending), Some(mut suspension)) = (ending, intent.open.take_if(|open| open.ending.is_none())) else { return };
    suspension.version += 1;
    suspension.ending = Some(ending);
    for lease in &mut intent.leases {
        lease.outlive_suspension(suspension.suspended_at, now);
    }
    intent.ended.push(suspension);
}
