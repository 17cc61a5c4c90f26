//! Decides about access to an intent: entries of its access control list, and requests for access (RFC-0011).

use chrono::{DateTime, Utc};

use crate::base::ids::AccessId;
use crate::base::name::{form, is_same};
use crate::intent::Intent;
use crate::intent::access::{
    AccessEvent, ChangeAccess, Decided, ENTRIES_MAX, Grant, Granted, OpenRequest, PrincipalType, REQUESTS_OPEN_BY_AGENT_MAX,
    REQUESTS_OPEN_MAX, Removed, RequestAccess, Requested, Verdict,
};
use crate::intent::agents::lost_leases;
use crate::intent::event::Event;
use crate::intent::refusal::Refusal;
use crate::people::access::{Entry, Permission};
use crate::people::authority::is_at_one;
use crate::people::principal::{Principal, Role};
use crate::problem::Rejection;
use crate::suspension::Asker;

/// Decides what a change of the access does. `intent.entries` holds the entries that are in force.
pub(super) fn change(intent: &Intent, change: &ChangeAccess, by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    match change {
        ChangeAccess::Set(grants) => set(intent, grants, by, now),
        ChangeAccess::Grant(grant) => self::grant(intent, grant, None, by, now),
        ChangeAccess::Revoke(id) => {
            let entry = intent.entries.iter().find(|entry| entry.id == *id).ok_or(Rejection::NotFound)?;
            let others: Vec<&Entry> = intent.entries.iter().filter(|other| other.id != *id).collect();
            Ok(removed(intent, entry, &others, now, |removed| {
                AccessEvent::Revoked(Removed { credential: by.credential, ..removed })
            }))
        }
        ChangeAccess::Request(request) => self::request(intent, request, by),
        ChangeAccess::Decide { request_id, verdict, reason, claimed_decided_by } => {
            let request = intent.requests.iter().find(|request| request.id == *request_id).ok_or(Rejection::NotFound)?;
            let decided = Decided {
                request_id: *request_id,
                principal_id: request.principal_id.clone(),
                permission: None,
                expires_at: None,
                reason: reason.clone(),
                decided_by: by.subject.clone(),
                claimed_decided_by: claimed_decided_by.clone().filter(|claimed| *claimed != by.subject),
                credential: by.credential,
            };
            decide(intent, request, verdict, decided, by, now)
        }
    }
}

/// The events that remove `entries`, which have expired. An expired entry gives no access, even before it is removed.
pub fn lapsed(intent: &Intent, entries: &[Entry], now: DateTime<Utc>) -> Vec<Event> {
    let in_force: Vec<&Entry> = intent.entries.iter().collect();
    let expired = |entry: &Entry| {
        let expires_at = entry.expires_at;
        removed(intent, entry, &in_force, now, |removed| AccessEvent::Expired(Removed { expires_at, ..removed }))
    };
    entries.iter().flat_map(expired).collect()
}

/// Removes an entry. If the agent may then no longer write, its leases are released. `others` are the entries that remain.
fn removed(
    intent: &Intent,
    entry: &Entry,
    others: &[&Entry],
    now: DateTime<Utc>,
    event: impl FnOnce(Removed) -> AccessEvent,
) -> Vec<Event> {
    let Entry { id, principal_id, .. } = entry.clone();
    let mut events = without_leases(intent, &principal_id, others, now);
    events.push(Event::Access(Box::new(event(Removed { id, principal_id, expires_at: None, credential: None }))));
    events
}

/// Releases the leases of an agent that may no longer write.
fn without_leases(intent: &Intent, principal_id: &str, others: &[&Entry], now: DateTime<Utc>) -> Vec<Event> {
    let writing = others.iter().filter(|entry| entry.permission >= Permission::Write && entry.principal_id != principal_id);
    let stays: Vec<&str> =
        writing.map(|entry| entry.principal_id.as_str()).chain(intent.assigned.iter().map(String::as_str)).collect();
    lost_leases(intent, principal_id, &stays, now)
}

fn grant(
    intent: &Intent,
    grant: &Grant,
    request_id: Option<AccessId>,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    let others: Vec<&Entry> = intent.entries.iter().filter(|entry| entry.principal_id != grant.principal_id).collect();
    if others.len() >= ENTRIES_MAX {
        let message = format!("an intent has at most {ENTRIES_MAX} entries; revoke one first");
        return Err(Rejection::invalid("principal_id", "count", message).into());
    }
    Ok(granted(intent, grant, request_id, &others, by, now)?)
}

/// Gives access to an agent, in place of its entry if it has one. `others` are the entries of other agents.
fn granted(
    intent: &Intent,
    grant: &Grant,
    request_id: Option<AccessId>,
    others: &[&Entry],
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Rejection> {
    if grant.expires_at.is_some_and(|at| at <= now) {
        return Err(Rejection::invalid("expires_at", "range", "must be in the future"));
    }
    let Grant { id, principal_id, permission, expires_at, reason } = grant.clone();
    let mut events = match permission {
        Permission::Read => without_leases(intent, &principal_id, others, now),
        Permission::Write | Permission::Admin => Vec::new(),
    };
    events.push(Event::Access(Box::new(AccessEvent::Granted(Granted {
        id,
        principal_id,
        principal_type: PrincipalType::Agent,
        permission,
        expires_at,
        reason,
        request_id,
        credential: by.credential,
    }))));
    Ok(events)
}

/// Makes these the only entries. An entry that stays as it is keeps its id and causes no event.
fn set(intent: &Intent, grants: &[Grant], by: &Principal, now: DateTime<Utc>) -> Result<Vec<Event>, Refusal> {
    let entries: Vec<Entry> = grants.iter().map(entry).collect();
    let mut events = Vec::new();
    for old in intent.entries.iter().filter(|old| !grants.iter().any(|grant| grant.principal_id == old.principal_id)) {
        let others: Vec<&Entry> = entries.iter().collect();
        events.extend(removed(intent, old, &others, now, |removed| {
            AccessEvent::Revoked(Removed { credential: by.credential, ..removed })
        }));
    }
    for grant in grants.iter().filter(|grant| !intent.entries.iter().any(|old| grant.is_kept_by(old))) {
        let others: Vec<&Entry> = entries.iter().filter(|other| other.principal_id != grant.principal_id).collect();
        events.extend(granted(intent, grant, None, &others, by, now)?);
    }
    // If two names of one agent lose their access, both may release the same lease. Only the first release of each lease is
    // kept.
    let mut released = Vec::new();
    events.retain(|event| {
        let Event::LeaseReleased(lease) = event else { return true };
        let is_first = !released.contains(&lease.id);
        released.push(lease.id);
        is_first
    });
    Ok(events)
}

fn entry(grant: &Grant) -> Entry {
    let Grant { id, principal_id, permission, expires_at, .. } = grant.clone();
    Entry { id, principal_id, permission, expires_at }
}

/// Asks for access. A caller has at most one open request for an agent; a second request changes nothing.
fn request(intent: &Intent, request: &RequestAccess, by: &Principal) -> Result<Vec<Event>, Refusal> {
    if intent.open_request(&request.principal_id, by).is_some() {
        return Ok(Vec::new());
    }
    if intent.requests.len() >= REQUESTS_OPEN_MAX {
        let message = format!("has {REQUESTS_OPEN_MAX} open requests for access; a person decides about them first");
        return Err(Rejection::invalid("intent_id", "count", message).into());
    }
    if request.open_by_caller >= REQUESTS_OPEN_BY_AGENT_MAX {
        let message = format!("an agent has at most {REQUESTS_OPEN_BY_AGENT_MAX} open requests for access");
        return Err(Rejection::invalid("principal_id", "count", message).into());
    }
    let RequestAccess { id, principal_id, permission, reason, capabilities, .. } = request.clone();
    let requested = Requested {
        id,
        principal_id,
        principal_type: PrincipalType::Agent,
        requested_permission: permission,
        reason,
        capabilities,
        credential: by.credential,
    };
    let requested_by = Asker { name: by.name.clone(), owner: by.owner.clone() };
    Ok(vec![Event::Access(Box::new(AccessEvent::Requested(requested, requested_by)))])
}

fn decide(
    intent: &Intent,
    request: &OpenRequest,
    verdict: &Verdict,
    decided: Decided,
    by: &Principal,
    now: DateTime<Utc>,
) -> Result<Vec<Event>, Refusal> {
    let Verdict::Approve { permission, expires_at } = verdict else {
        return Ok(vec![Event::Access(Box::new(AccessEvent::Denied(decided)))]);
    };
    let permission = permission.unwrap_or(request.permission);
    if permission > request.permission {
        let message = format!("must be at most {}, the permission that was requested", request.permission.as_str());
        return Err(Rejection::invalid("permission", "range", message).into());
    }
    let (id, principal_id, expires_at) = (request.id, request.principal_id.clone(), *expires_at);
    let grant = Grant { id, principal_id, permission, expires_at, reason: decided.reason.clone() };
    let mut events = self::grant(intent, &grant, Some(request.id), by, now)?;
    let decided = Decided { permission: Some(permission), expires_at, ..decided };
    events.push(Event::Access(Box::new(AccessEvent::Approved(decided))));
    Ok(events)
}

/// Decides whether `by` may change the access in this way, as far as that depends on the change.
///
/// An agent whose right comes from an entry cannot extend that right: it can give no access to itself, and to others none that
/// lasts longer than its own entry. A request cannot be decided by a key that has the same owner as the caller that made it.
pub(super) fn permit(intent: &Intent, change: &ChangeAccess, by: &Principal) -> Result<(), Rejection> {
    let forbidden = |reason: &str| Err(Rejection::Forbidden { reason: reason.into() });
    let bounded = |grant: &Grant| match intent.end_of_admin(by) {
        _ if by.role != Role::Agent || intent.is_created_by(by) => Ok(()),
        _ if by.may_act_for(&grant.principal_id) => forbidden("an agent may not change its own access"),
        Some(end) if grant.expires_at.is_none_or(|at| at > end) => {
            forbidden("an agent may not give access for longer than it has access itself")
        }
        Some(_) | None => Ok(()),
    };
    match change {
        ChangeAccess::Grant(grant) => bounded(grant),
        ChangeAccess::Set(grants) => {
            let is_new = |grant: &&Grant| !intent.entries.iter().any(|old| grant.is_kept_by(old));
            grants.iter().filter(is_new).try_for_each(bounded)
        }
        ChangeAccess::Request(request) if !intent.is_open_to(by) && !by.may_act_for(&request.principal_id) => {
            forbidden("an agent that may not read the intent asks for access for itself only")
        }
        ChangeAccess::Decide { request_id, .. } => match intent.requests.iter().find(|request| request.id == *request_id) {
            Some(request) if is_interested(by, request) => Err(Rejection::SelfResponse),
            Some(_) | None => Ok(()),
        },
        ChangeAccess::Revoke(_) | ChangeAccess::Request(_) => Ok(()),
    }
}

/// Decides whether `by` may assign this agent. An assignment gives access without an end. So an agent whose right comes from an
/// entry may not assign itself, and may not assign other agents if its own right ends at some time.
pub(super) fn permit_assigning(intent: &Intent, agent_id: &str, by: &Principal) -> Result<(), Rejection> {
    if !intent.is_open_by_entry(by) {
        return Ok(());
    }
    let reason = match intent.end_of_admin(by) {
        Some(_) => "an agent whose access ends at some time may not assign agents",
        None if by.may_act_for(agent_id) => "an agent may not change its own access",
        None => return Ok(()),
    };
    Err(Rejection::Forbidden { reason: reason.into() })
}

/// Whether a key may not decide the request because it belongs to the requester or to the agent that is to get access. It belongs
/// to the requester if it has the requester's owner or name. It belongs to the agent if its owner, name or subject is the agent's
/// name, or a name above that name (`a` is above `a/b`).
fn is_interested(by: &Principal, request: &OpenRequest) -> bool {
    let beneficiary = request.principal_id.to_lowercase();
    let would_get_access = |name: &str| {
        let rest = beneficiary.strip_prefix(&form(name).to_lowercase());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    is_at_one(by, &request.requested_by) || [by.owner.as_str(), &by.name, &by.subject].into_iter().any(would_get_access)
}

impl Intent {
    /// The open request of this caller for this agent.
    pub fn open_request(&self, principal_id: &str, by: &Principal) -> Option<&OpenRequest> {
        let is_it = |open: &&OpenRequest| open.principal_id == principal_id && is_same(&open.requested_by.name, &by.name);
        self.requests.iter().find(is_it)
    }

    /// Whether an agent may read the intent.
    fn is_open_to(&self, by: &Principal) -> bool {
        self.is_created_by(by)
            || self.assigned.iter().any(|agent_id| by.may_act_for(agent_id))
            || self.entries.iter().any(|entry| entry.admits(by))
    }

    /// When the right of an agent to manage the access ends; `None` if it does not end, or if no entry gives the agent the right.
    fn end_of_admin(&self, by: &Principal) -> Option<DateTime<Utc>> {
        let own = self.entries.iter().filter(|entry| entry.permission == Permission::Admin && entry.admits(by));
        let ends: Option<Vec<DateTime<Utc>>> = own.map(|entry| entry.expires_at).collect();
        ends.and_then(|ends| ends.into_iter().max())
    }

    /// Whether the principal's right to the intent comes from an entry alone.
    fn is_open_by_entry(&self, by: &Principal) -> bool {
        let is_assigned = self.assigned.iter().any(|agent_id| by.may_act_for(agent_id));
        by.role == Role::Agent && !self.is_created_by(by) && !is_assigned
    }
}
