//! Assigns agents to an intent, and takes them off (RFC-0003).

use chrono::{DateTime, Utc};

use crate::intent::Intent;
use crate::intent::assignment::{ASSIGNED_MAX, Assign, Unassigned};
use crate::intent::event::Event;
use crate::intent::refusal::Refusal;
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::lease::{Lease, LeaseStatus};

/// Assigns an agent. A request that adds nothing to the assignment in force causes no event: the OpenIntent client sends each
/// assignment twice.
pub(super) fn assign(intent: &Intent, assign: &Assign) -> Result<Vec<Event>, Refusal> {
    let assigned = assign.result();
    if assign.in_force.as_ref() == Some(&assigned) {
        return Ok(Vec::new());
    }
    if assign.in_force.is_none() && intent.assigned.len() >= ASSIGNED_MAX {
        let message = format!("an intent has at most {ASSIGNED_MAX} assigned agents; take one off first");
        return Err(Rejection::invalid("agent_id", "count", message).into());
    }
    Ok(vec![Event::AgentAssigned(Box::new(assigned))])
}

/// Takes an agent off, with its leases, which no other agent could release. The creator, an admin, and the agent itself may do so.
pub(super) fn unassign(intent: &Intent, agent_id: &str, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    if !intent.assigned.iter().any(|assigned| assigned == agent_id) {
        return Err(Rejection::NotFound.into());
    }
    if by.role == Role::Agent && !intent.is_created_by(by) && !by.may_act_for(agent_id) {
        let reason = "only the agent that created the intent may take other agents off it".into();
        return Err(Rejection::Forbidden { reason }.into());
    }
    let is_below =
        |lease: &&Lease| lease.agent_id.strip_prefix(agent_id).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let released = |lease: &Lease| {
        Event::LeaseReleased(Box::new(Lease { status: LeaseStatus::Released, released_at: Some(now), ..lease.clone() }))
    };
    let mut events = vec![Event::AgentUnassigned(Unassigned { agent_id: agent_id.to_owned() })];
    // The creator may have assigned itself; it keeps its leases.
    if agent_id != intent.created_by.name {
        events.extend(intent.leases.iter().filter(is_below).map(released));
    }
    Ok(events)
}
