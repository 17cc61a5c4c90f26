//! Claims, releases, delegations and reassignments of open questions: the commands, their events, and what is decided about them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::field::FieldError;
use crate::base::ids::SuspensionId;
use crate::intent::Intent;
use crate::intent::refusal::{Refusal, expired, why_refused};
use crate::people::answerer::{Answerer, answers_for};
use crate::people::authority::Action;
use crate::people::principal::{Credential, Principal, Role};
use crate::problem::Rejection;
use crate::suspension::Suspension;
use crate::suspension::assignees::Assignees;
use crate::suspension::hands::{CHAIN_MAX, Claim, HANDED_MAX, Handed, Hands, Reassignment};

/// The type of [`HandsEvent::Claimed`].
pub const CLAIMED: &str = "intent.claimed";
/// The type of [`HandsEvent::Released`].
pub const CLAIM_RELEASED: &str = "intent.claim_released";
/// The type of [`HandsEvent::Delegated`].
pub const DELEGATED: &str = "intent.delegated";
/// The type of [`HandsEvent::Reassigned`].
pub const REASSIGNED: &str = "intent.reassigned";

/// A person changes in whose hands a question is.
#[derive(Clone, Debug)]
pub struct Hand {
    /// The question.
    pub suspension_id: SuspensionId,
    /// The change.
    pub step: HandStep,
    /// What the directory says about the people of the change; only the store knows it.
    pub facts: HandFacts,
}

/// A change of the hands in which a question is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HandStep {
    /// Tell others that the caller works on it.
    Claim,
    /// Take that back.
    Release,
    /// Hand the caller's place to the person with this address.
    Delegate {
        /// The address, in small letters.
        to: String,
    },
    /// Assign it to other people.
    Reassign {
        /// Those who may answer from then on.
        assignees: Assignees,
    },
}

/// What the directory says about the people of a change.
#[derive(Clone, Debug, Default)]
pub struct HandFacts {
    /// The people who may answer at present; absent if the question is assigned to no one in particular.
    pub assignees: Option<Assignees>,
    /// The listed people among those whose places were handed on.
    pub holders: Vec<Answerer>,
    /// The listed person for whom the caller acts.
    pub person: Option<Answerer>,
    /// The listed people whom the change names: the one who gets the place, or the new assignees by name.
    pub named: Vec<Answerer>,
    /// Whether the person who would get the place owns the key that asked.
    pub is_own: bool,
    /// The people who are told of a reassignment.
    pub notify_to: Vec<String>,
}

/// A change of the hands in which a question is, as the log has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum HandsEvent {
    /// A person works on the question.
    Claimed(Claimed),
    /// The person no longer does.
    Released(Released),
    /// A person handed the place on.
    Delegated(Delegated),
    /// The question is assigned to other people.
    Reassigned(Reassigned),
}

/// A claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// The suspension, which stays open.
    pub suspension_id: SuspensionId,
    /// The person who works on it.
    pub person: String,
    /// The person who had claimed it before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub taken_over_from: Option<String>,
    /// The credential of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// The end of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Released {
    /// The suspension, which stays open.
    pub suspension_id: SuspensionId,
    /// The person who had claimed it.
    pub person: String,
    /// The subject that released it: the person, or an admin.
    pub released_by: String,
    /// The credential of that subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A place that was handed on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delegated {
    /// The suspension, which stays open.
    pub suspension_id: SuspensionId,
    /// The person whose place it was at first.
    pub place: String,
    /// The person who handed it on.
    pub from: String,
    /// The person who has it now.
    pub to: String,
    /// The credential of the person who handed it on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A question that is assigned to other people.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reassigned {
    /// The suspension, which stays open.
    pub suspension_id: SuspensionId,
    /// Those who may answer from now on.
    pub assignees: Assignees,
    /// Those who could answer before; absent if the question was assigned to no one in particular.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Assignees>,
    /// Those who are told.
    pub notify_to: Vec<String>,
    /// The subject that reassigned it.
    pub reassigned_by: String,
    /// The credential of that subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

impl HandStep {
    /// The action that the caller must be allowed.
    pub fn action(&self) -> Action {
        match self {
            Self::Claim => Action::Claim,
            // Whether the claim is the caller's own is decided below.
            Self::Release => Action::Release,
            Self::Delegate { .. } => Action::Delegate,
            Self::Reassign { .. } => Action::Reassign,
        }
    }

    /// The people whom the change names, by their addresses.
    pub fn named(&self) -> &[String] {
        match self {
            Self::Claim | Self::Release => &[],
            Self::Delegate { to } => std::slice::from_ref(to),
            Self::Reassign { assignees } => &assignees.people,
        }
    }
}

impl HandsEvent {
    /// The type of the event in the log.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Claimed(_) => CLAIMED,
            Self::Released(_) => CLAIM_RELEASED,
            Self::Delegated(_) => DELEGATED,
            Self::Reassigned(_) => REASSIGNED,
        }
    }

    /// The question.
    pub fn suspension_id(&self) -> SuspensionId {
        match self {
            Self::Claimed(Claimed { suspension_id, .. })
            | Self::Released(Released { suspension_id, .. })
            | Self::Delegated(Delegated { suspension_id, .. })
            | Self::Reassigned(Reassigned { suspension_id, .. }) => *suspension_id,
        }
    }

    /// The credential of the person who made the change.
    pub fn credential(&self) -> Option<Credential> {
        match self {
            Self::Claimed(Claimed { credential, .. })
            | Self::Released(Released { credential, .. })
            | Self::Delegated(Delegated { credential, .. })
            | Self::Reassigned(Reassigned { credential, .. }) => *credential,
        }
    }

    /// The people who are asked because of the event.
    pub fn told(&self) -> &[String] {
        match self {
            Self::Claimed(_) | Self::Released(_) => &[],
            Self::Delegated(delegated) => std::slice::from_ref(&delegated.to),
            Self::Reassigned(reassigned) => &reassigned.notify_to,
        }
    }

    /// Applies the event to the hands of its question.
    pub fn apply(&self, hands: &mut Hands, at: DateTime<Utc>) {
        match self {
            Self::Claimed(claimed) => hands.claim = Some(Claim { person: claimed.person.clone(), at }),
            Self::Released(_) => hands.claim = None,
            Self::Delegated(delegated) => {
                hands.claim.take_if(|claim| claim.person == delegated.from);
                let (place, from, to) = (delegated.place.clone(), delegated.from.clone(), delegated.to.clone());
                hands.handed.push(Handed { place, from, to });
            }
            // The places of the people before are gone, and so is what they did with them.
            Self::Reassigned(reassigned) => {
                let (assignees, notify_to) = (reassigned.assignees.clone(), reassigned.notify_to.clone());
                *hands = Hands { reassigned: Some(Reassignment { assignees, notify_to }), ..Hands::default() };
            }
        }
    }

    /// Reads the payload of an event; `None` for another type.
    pub(crate) fn read(event_type: &str, payload: &Value) -> Option<Result<Self, serde_json::Error>> {
        Some(match event_type {
            CLAIMED => Claimed::deserialize(payload).map(Self::Claimed),
            CLAIM_RELEASED => Released::deserialize(payload).map(Self::Released),
            DELEGATED => Delegated::deserialize(payload).map(Self::Delegated),
            REASSIGNED => Reassigned::deserialize(payload).map(Self::Reassigned),
            _ => return None,
        })
    }
}

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
        HandStep::Delegate { to } => Some(HandsEvent::Delegated(delegate(open, to, &hand.facts, by)?)),
        HandStep::Reassign { assignees } => reassign(open, assignees, &hand.facts, by)?.map(HandsEvent::Reassigned),
    })
}

/// The person for whom the caller acts.
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

/// Hands the caller's place to another person.
fn delegate(open: &Suspension, to: &str, facts: &HandFacts, by: &Principal) -> Result<Delegated, Rejection> {
    let from = person(by)?;
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
    Ok(Delegated { suspension_id: open.id, place, from, to: to.to_owned(), credential: by.credential })
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
    if let Some(before) = facts.assignees.as_ref().filter(|_| by.role != Role::Admin) {
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
