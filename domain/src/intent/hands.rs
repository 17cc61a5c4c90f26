//! Claims, releases, delegations and reassignments of open questions: the commands, and their events.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::base::ids::SuspensionId;
use crate::people::answerer::Answerer;
use crate::people::authority::Action;
use crate::people::principal::Credential;
use crate::suspension::assignees::Assignees;
use crate::suspension::hands::{Claim, Handed, Hands, Reassignment};

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
    /// The directory's entries of the people of the change; only the store knows them.
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
    /// Give the place of a person who is out of office to the deputy. Only the server itself does so.
    StandIn {
        /// The address of the person.
        from: String,
        /// The address of the deputy.
        to: String,
        /// The deputies before, who are out of office as well.
        via: Vec<String>,
    },
    /// Assign it to other people.
    Reassign {
        /// Those who may answer from then on.
        assignees: Assignees,
    },
}

/// The directory's entries of the people of a change.
#[derive(Clone, Debug, Default)]
pub struct HandFacts {
    /// The people who may answer at present; absent if the question is assigned to no one in particular.
    pub assignees: Option<Assignees>,
    /// The listed people among those whose places were handed on.
    pub holders: Vec<Answerer>,
    /// The listed person in whose name the caller acts.
    pub person: Option<Answerer>,
    /// The listed people in the change: the one who gets the place, or the new assignees by name.
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
    /// Whether the server did it, because the person is out of office.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub out_of_office: bool,
    /// The deputies between the two, who were out of office as well.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub via: Vec<String>,
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
            Self::Delegate { .. } | Self::StandIn { .. } => Action::Delegate,
            Self::Reassign { .. } => Action::Reassign,
        }
    }

    /// The addresses of the people in the change.
    pub fn named(&self) -> &[String] {
        match self {
            Self::Claim | Self::Release => &[],
            Self::Delegate { to } | Self::StandIn { to, .. } => std::slice::from_ref(to),
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
                let reassigned = Some(Reassignment { assignees, notify_to });
                let Hands { has_drafts, has_alerts, .. } = *hands;
                *hands = Hands { reassigned, has_drafts, has_alerts, ..Hands::default() };
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
