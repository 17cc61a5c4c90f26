//! The decisions about claims, delegations and reassignments of open questions.

use chrono::{DateTime, Utc};

use crate::base::field::FieldError;
use crate::intent::Intent;
use crate::intent::hands::{Claimed, Delegated, Hand, HandFacts, HandStep, HandsEvent, Reassigned, Released};
use crate::intent::refusal::{Refusal, expired, why_refused};
use crate::people::answerer::answers_for;
use crate::people::principal::{Assurance, Principal, Role};
use crate::problem::Rejection;
use crate::suspension::Suspension;
use crate::suspension::assignees::Assignees;
use crate::suspension::hands::{CHAIN_MAX, HANDED_MAX};

/// Decides a change. Whether the caller may make one at all was decided before.
pub(super) fn decide(intent: &Intent, hand: &Hand, by: &Principal, now: DateTime<Utc>) -> Result<Option<HandsEvent>, Refusal> {
    let Some(open) = intent.opened(hand.suspension_id) else {
        return Err(why_refused(intent, &hand.suspension_id.expose()).into());
    };
    if open.is_expired(now) {
        return Err(expired(intent, open));
    }
    Ok(match &hand.step {
        HandStep::Claim => claim(open, by)?.map(HandsEvent::Claimed),
        HandStep::Release => Some(HandsEvent::Released(release(open, by)?)),
        HandStep::Delegate { to } => {
            let handed = delegate(open, person(by)?, to, &hand.facts)?;
            Some(HandsEvent::Delegated(Delegated { credential: by.credential, ..handed }))
        }
        // No request makes this step. A verifier that reads it in a log of another actor finds it refused.
        HandStep::StandIn { .. } if by.assurance != Assurance::Server => return Err(Rejection::server_only().into()),
        HandStep::StandIn { from, to, via } => {
            let handed = delegate(open, from.clone(), to, &hand.facts)?;
            // The deputy answers in one place, so the place of the person would be lost: fewer people would be left to agree.
            if has_own_place(open, to, &hand.facts) {
                let message = format!("names {to}, who has a place of their own in this question: one person counts once");
                return Err(Rejection::invalid("to", "taken", message).into());
            }
            Some(HandsEvent::Delegated(Delegated { out_of_office: true, via: via.clone(), ..handed }))
        }
        HandStep::Reassign { assignees } => reassign(open, assignees, &hand.facts, by)?.map(HandsEvent::Reassigned),
    })
}

/// The person in whose name the caller acts.
fn person(by: &Principal) -> Result<String, Rejection> {
    answers_for(by, None).ok_or(Rejection::NotAssigned)
}

/// Claims a question, also one that another person has claimed. No event if the caller has claimed it already.
fn claim(open: &Suspension, by: &Principal) -> Result<Option<Claimed>, Rejection> {
    let person = person(by)?;
    let before = open.hands.claim.as_ref().map(|claim| claim.person.clone());
    if before.as_ref() == Some(&person) {
        return Ok(None);
    }
    Ok(Some(Claimed { suspension_id: open.id, person, taken_over_from: before, credential: by.credential }))
}

/// Releases the caller's claim. An admin releases that of another person, who may be away.
fn release(open: &Suspension, by: &Principal) -> Result<Released, Rejection> {
    let claim = open.hands.claim.as_ref().ok_or(Rejection::NotClaimed)?;
    if claim.person != person(by)? && by.role != Role::Admin {
        return Err(Rejection::NotClaimed);
    }
    let (released_by, credential) = (by.subject.clone(), by.credential);
    Ok(Released { suspension_id: open.id, person: claim.person.clone(), released_by, credential })
}

/// Whether the person who would get a place has one of the own already.
fn has_own_place(open: &Suspension, address: &str, facts: &HandFacts) -> bool {
    let person = facts.named.iter().find(|named| named.address == address);
    let (Some(person), Some(assignees)) = (person, &facts.assignees) else { return false };
    open.hands.place_of(person, assignees, &facts.holders).is_some()
}

/// Hands the place of a person to another one.
fn delegate(open: &Suspension, from: String, to: &str, facts: &HandFacts) -> Result<Delegated, Rejection> {
    let has_answered = |address: &str| open.counted.iter().any(|counted| counted.person == address);
    if has_answered(&from) {
        return Err(Rejection::HasAnswered);
    }
    let place = match (&facts.assignees, &facts.person) {
        (None, _) if open.hands.has_left(&from) => return Err(Rejection::NotAssigned),
        (None, _) => open.hands.place_handed_to(&from).unwrap_or(&from).to_owned(),
        (Some(assignees), Some(person)) => {
            open.hands.place_of(person, assignees, &facts.holders).ok_or(Rejection::NotAssigned)?.to_owned()
        }
        (Some(_), None) => return Err(Rejection::NotAssigned),
    };
    let refused = |rule: &str, why: &str| Err(Rejection::invalid("to", rule, format!("names {to}, {why}")));
    if to == from {
        return refused("self", "whose place it is already");
    }
    let Some(next) = facts.named.iter().find(|named| named.address == to) else {
        return refused("unknown", "who is no listed person");
    };
    if next.role == Role::Auditor {
        return refused("role", "who is an auditor, and auditors answer no questions");
    }
    if facts.is_own {
        return refused("own", "who owns the key that asked");
    }
    if open.hands.has_left(to) {
        return refused("cycle", "who has handed a place of this question on");
    }
    if has_answered(to) {
        return refused("answered", "whose own answer counts already: one person counts once");
    }
    if open.hands.place_handed_to(to).is_some() {
        return refused("taken", "who has the place of another person already: one person counts once");
    }
    if open.hands.handed.iter().filter(|handed| handed.place == place).count() >= CHAIN_MAX
        || open.hands.handed.len() >= HANDED_MAX
    {
        let message = format!("a place is handed on at most {CHAIN_MAX} times, and those of one question {HANDED_MAX} times");
        return Err(Rejection::invalid("to", "chain", message));
    }
    if let Some(assignees) = &facts.assignees
        && !next.is_among(assignees)
        && !assignees.people.contains(&place)
    {
        let why = "who is in none of the groups and has none of the roles to which the question is assigned";
        return refused("assigned", why);
    }
    let (suspension_id, to) = (open.id, to.to_owned());
    Ok(Delegated { suspension_id, place, from, to, credential: None, out_of_office: false, via: Vec::new() })
}

/// Assigns the question to other people. An admin may name all listed people; each other person only those who may answer already. No
/// event if nothing would change.
fn reassign(
    open: &Suspension,
    assignees: &Assignees,
    facts: &HandFacts,
    by: &Principal,
) -> Result<Option<Reassigned>, Rejection> {
    if facts.assignees.as_ref() == Some(assignees) && open.hands.handed.is_empty() {
        return Ok(None);
    }
    if let Some(before) = facts.assignees.as_ref().filter(|_| !by.decides_who_answers()) {
        let may_answer = |address: &String| {
            let person = facts.named.iter().find(|named| named.address == *address);
            person.is_some_and(|person| open.hands.place_of(person, before, &facts.holders).is_some())
        };
        let people =
            assignees.people.iter().map(may_answer).enumerate().map(|(at, is_right)| (format!("people[{at}]"), is_right));
        let groups = assignees.groups.iter().map(|group| before.groups.contains(group)).enumerate();
        let groups = groups.map(|(at, is_right)| (format!("groups[{at}]"), is_right));
        let roles = assignees.roles.iter().map(|role| before.roles.contains(role)).enumerate();
        let roles = roles.map(|(at, is_right)| (format!("roles[{at}]"), is_right));
        let message = "must be among those who may answer already; an admin can assign the question to others";
        let wrong = people.chain(groups).chain(roles).filter(|(_, is_right)| !is_right);
        let errors: Vec<_> = wrong.map(|(field, _)| FieldError::new(format!("assignees.{field}"), "assigned", message)).collect();
        if !errors.is_empty() {
            return Err(Rejection::Invalid { errors });
        }
    }
    Ok(Some(Reassigned {
        suspension_id: open.id,
        assignees: assignees.clone(),
        before: facts.assignees.clone(),
        notify_to: facts.notify_to.clone(),
        reassigned_by: by.subject.clone(),
        credential: by.credential,
    }))
}
