//! Assigns agents to an intent, and takes them off (RFC-0003).

use chrono::{DateTime, Utc};

use crate::base::name::{form, is_at_or_below};
use crate::intent::Intent;
use crate::intent::assignment::{ASSIGNED_MAX, Assign, Unassigned};
use crate::intent::event::Event;
use crate::intent::refusal::Refusal;
use crate::intent::{coordinators, leases};
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;

/// Assigns an agent. A request that adds nothing to the assignment in force causes no event, because the OpenIntent client
/// sends each assignment twice.
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

/// Takes an agent off the intent, and releases the agent's leases, because no other agent could release them. The creator, an
/// admin, and the agent itself may do so.
pub(super) fn unassign(intent: &Intent, agent_id: &str, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    if !intent.assigned.iter().any(|assigned| assigned == agent_id) {
        return Err(Rejection::NotFound.into());
    }
    if by.role == Role::Agent && !intent.is_created_by(by) && !by.may_act_for(agent_id) {
        let reason = "only the agent that created the intent may take other agents off it".into();
        return Err(Rejection::Forbidden { reason }.into());
    }
    let mut events = vec![Event::AgentUnassigned(Unassigned { agent_id: agent_id.to_owned() })];
    let stays: Vec<&str> = intent.assigned.iter().map(String::as_str).filter(|assigned| *assigned != agent_id).collect();
    events.extend(lost_leases(intent, agent_id, &stays, now));
    Ok(events)
}

/// Releases the leases of an agent that may no longer work on the intent, also those that its keys took under their own names. A
/// lease is kept if its holder is also the creator or one of the agents that stay, because one key may be known by two names.
pub(super) fn lost_leases(intent: &Intent, agent_id: &str, stays: &[&str], now: DateTime<Utc>) -> Vec<Event> {
    let agent_id = form(agent_id);
    let keys = intent.aliases.iter().filter(|alias| form(&alias.subject) == agent_id).map(|alias| form(&alias.name));
    let gone: Vec<String> = keys.chain([agent_id.clone()]).collect();
    let kept: Vec<String> = stays.iter().copied().chain([intent.created_by.name.as_str()]).map(form).collect();
    let is_lost = |holder: String| {
        let within = |names: &[String]| names.iter().any(|name| is_at_or_below(&holder, name));
        within(&gone) && !within(&kept)
    };
    let lost = intent.leases.iter().filter(|lease| is_lost(form(&lease.agent_id)));
    let directs = coordinators::lost(intent, |holder| is_lost(form(holder)));
    lost.map(|lease| leases::released(lease, now)).chain(directs).collect()
}
