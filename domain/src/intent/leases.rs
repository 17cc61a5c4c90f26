//! Takes, prolongs and releases leases (RFC-0003).

use chrono::{DateTime, Utc};

use crate::base::ids::LeaseId;
use crate::base::name::is_same;
use crate::base::time::seconds;
use crate::intent::Intent;
use crate::intent::event::Event;
use crate::intent::refusal::Refusal;
use crate::intent::workflow;
use crate::problem::Rejection;
use crate::suspension::lease::{Lease, LeaseStatus};

/// Takes a scope, or prolongs the lease of the agent that holds it. A new lease begins work, so the inputs of the intent must be there.
pub(crate) fn acquire(
    intent: &Intent,
    id: LeaseId,
    agent_id: &str,
    scope: &str,
    duration_seconds: u32,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    if let Some(held) = intent.lease_on(scope, now) {
        if !is_same(&held.agent_id, agent_id) {
            return Err(Rejection::LeaseConflict { existing: Box::new(held.clone()) }.into());
        }
        // An agent that asks again for a scope it holds prolongs its lease; two leases of one scope never exist.
        return Ok(vec![Event::LeaseRenewed(Box::new(prolonged(held, duration_seconds, now)))]);
    }
    if intent.open.as_ref().is_some_and(|open| !is_same(&open.asked_by.name, agent_id)) {
        return Err(Rejection::LeaseWhileSuspended.into());
    }
    // A lease begins work, and none begins while the intent is stopped.
    if intent.stop.is_some() {
        return Err(Rejection::LeaseWhileSuspended.into());
    }
    workflow::may_begin(intent)?;
    Ok(vec![Event::LeaseAcquired(Box::new(Lease {
        id,
        intent_id: intent.id,
        agent_id: agent_id.to_owned(),
        scope: scope.to_owned(),
        status: LeaseStatus::Active,
        acquired_at: now,
        created_at: now,
        expires_at: now + seconds(duration_seconds),
        released_at: None,
        duration_seconds,
    }))])
}

fn prolonged(lease: &Lease, duration_seconds: u32, now: DateTime<Utc>) -> Lease {
    Lease { expires_at: now + seconds(duration_seconds), duration_seconds, ..lease.clone() }
}

/// Gives the lease of a task that goes on its whole time again, also if it has run out, unless another agent has the scope by now.
pub(super) fn revived(intent: &Intent, lease: &Lease, now: DateTime<Utc>) -> Option<Event> {
    let is_free = intent.lease_on(&lease.scope, now).is_none_or(|held| held.id == lease.id);
    is_free.then(|| Event::LeaseRenewed(Box::new(prolonged(lease, lease.duration_seconds, now))))
}

/// Prolongs a lease. This also succeeds if the time of the lease has passed during the present suspension of the intent, because
/// no lease runs out while the intent is suspended (RFC-0025 §2).
pub(crate) fn renew(
    intent: &Intent,
    id: LeaseId,
    agent_id: &str,
    duration_seconds: u32,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    let lease = own_lease(intent, id, agent_id)?;
    if !lease.holds(now, intent.suspended_since()) {
        return Err(Rejection::invalid("lease_id", "expired", "the lease has run out; acquire it again").into());
    }
    Ok(vec![Event::LeaseRenewed(Box::new(prolonged(lease, duration_seconds, now)))])
}

/// Releases a lease.
pub(crate) fn release(intent: &Intent, id: LeaseId, agent_id: &str, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    let lease = own_lease(intent, id, agent_id)?;
    Ok(vec![released(lease, now)])
}

/// The event that releases a lease.
pub(super) fn released(lease: &Lease, now: DateTime<Utc>) -> Event {
    Event::LeaseReleased(Box::new(Lease { status: LeaseStatus::Released, released_at: Some(now), ..lease.clone() }))
}

fn own_lease<'a>(intent: &'a Intent, id: LeaseId, agent_id: &str) -> Result<&'a Lease, Rejection> {
    intent.leases.iter().find(|lease| lease.id == id && is_same(&lease.agent_id, agent_id)).ok_or(Rejection::NotFound)
}
