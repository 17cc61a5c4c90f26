//! Access of agents to intents that other agents created (RFC-0011): entries of the access control list, and requests for access.
//!
//! The types that are serialized are payloads of events: a log is verified for ever, so a member never changes its name or its form.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::AccessId;
use crate::people::access::{Entry, Permission};
use crate::people::authority::Action;
use crate::people::principal::Credential;
use crate::suspension::Asker;

/// The type of the events that give access.
pub const GRANTED: &str = "access_granted";
/// The type of the events that take access away.
pub const REVOKED: &str = "access_revoked";
/// The type of the events that remove an entry whose time has passed.
pub const EXPIRED: &str = "access_expired";
/// The type of the events that ask for access.
pub const REQUESTED: &str = "access_requested";
/// The type of the events that approve a request.
pub const APPROVED: &str = "access_request_approved";
/// The type of the events that deny a request.
pub const DENIED: &str = "access_request_denied";

/// The most entries of one intent.
pub const ENTRIES_MAX: usize = 100;
/// The most open requests for access to one intent.
pub const REQUESTS_OPEN_MAX: usize = 50;
/// The most open requests that one agent has made, over all intents.
pub const REQUESTS_OPEN_BY_AGENT_MAX: usize = 100;
/// The most capabilities that a request names.
pub const CAPABILITIES_MAX: usize = 50;

/// The kind of principal that an entry admits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum PrincipalType {
    /// An agent.
    Agent,
}

/// A request for access that no person has decided yet, as far as decisions need it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// Its id.
    pub id: AccessId,
    /// The agent that is to get access.
    pub principal_id: String,
    /// The credential that asked.
    pub requested_by: Asker,
    /// The highest permission that may be given.
    pub permission: Permission,
}

/// Access that was given; the payload of `access_granted`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Granted {
    /// The id of the entry.
    pub id: AccessId,
    /// The agent.
    pub principal_id: String,
    /// The kind of principal.
    pub principal_type: PrincipalType,
    /// The agent's permission.
    pub permission: Permission,
    /// When the entry expires.
    #[serde(default, with = "crate::base::time::naive_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// The reason, in the words of the caller that gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The request that was approved, if one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub request_id: Option<AccessId>,
    /// The credential that gave it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

impl Granted {
    /// The entry that the event makes.
    pub fn entry(&self) -> Entry {
        let Self { id, principal_id, permission, expires_at, .. } = self;
        Entry { id: *id, principal_id: principal_id.clone(), permission: *permission, expires_at: *expires_at }
    }
}

/// An entry that is no longer in force; the payload of `access_revoked` and `access_expired`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Removed {
    /// The id of the entry.
    pub id: AccessId,
    /// The agent.
    pub principal_id: String,
    /// When the entry expired; absent if it was revoked.
    #[serde(default, with = "crate::base::time::naive_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// The credential that revoked the entry; absent if it expired.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A request for access; the payload of `access_requested`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Requested {
    /// The id of the request.
    pub id: AccessId,
    /// The agent that is to get access.
    pub principal_id: String,
    /// The kind of principal.
    pub principal_type: PrincipalType,
    /// The permission that the agent is to get.
    pub requested_permission: Permission,
    /// The reason, in the words of the caller that asked.
    pub reason: String,
    /// The abilities that the request claims for the agent.
    pub capabilities: Vec<String>,
    /// The credential that asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

impl Requested {
    /// The request that the event opens.
    pub fn opened(&self, requested_by: &Asker) -> OpenRequest {
        let (id, principal_id, permission) = (self.id, self.principal_id.clone(), self.requested_permission);
        OpenRequest { id, principal_id, requested_by: requested_by.clone(), permission }
    }
}

/// A decision about a request; the payload of `access_request_approved` and `access_request_denied`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decided {
    /// The id of the request.
    pub request_id: AccessId,
    /// The agent that is to get access.
    pub principal_id: String,
    /// The agent's permission, if the request was approved; at most the requested one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
    /// When the access ends.
    #[serde(default, with = "crate::base::time::naive_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// The reason, in the words of the person who decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The subject of the credential that decided.
    pub decided_by: String,
    /// The name of the person in the request's body, if it differs from the subject of the credential.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_decided_by: Option<String>,
    /// The credential that decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub credential: Option<Credential>,
}

/// A change of the access to an intent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AccessEvent {
    /// An agent got access.
    Granted(Granted),
    /// An agent's access was taken away.
    Revoked(Removed),
    /// The time of an agent's access has passed.
    Expired(Removed),
    /// An agent asked for access; the second member is the credential that asked.
    Requested(Requested, Asker),
    /// A request was approved.
    Approved(Decided),
    /// A request was denied.
    Denied(Decided),
}

impl AccessEvent {
    /// The type of its event.
    pub fn event_type(&self) -> &'static str {
        match self {
            Self::Granted(_) => GRANTED,
            Self::Revoked(_) => REVOKED,
            Self::Expired(_) => EXPIRED,
            Self::Requested(..) => REQUESTED,
            Self::Approved(_) => APPROVED,
            Self::Denied(_) => DENIED,
        }
    }

    /// The agent that may no longer write because of the event; `None` if it takes that from no agent.
    pub fn takes_from(&self) -> Option<&str> {
        match self {
            Self::Granted(granted) => Some(&granted.principal_id).filter(|_| granted.permission < Permission::Write),
            Self::Revoked(removed) | Self::Expired(removed) => Some(&removed.principal_id),
            Self::Requested(..) | Self::Approved(_) | Self::Denied(_) => None,
        }
        .map(String::as_str)
    }
}

/// Access that is to be given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    /// The id that the entry will have.
    pub id: AccessId,
    /// The agent.
    pub principal_id: String,
    /// The agent's permission.
    pub permission: Permission,
    /// When the entry expires.
    pub expires_at: Option<DateTime<Utc>>,
    /// The reason.
    pub reason: Option<String>,
}

impl Grant {
    /// Whether `entry` already gives the agent the same permission until the same time.
    pub fn is_kept_by(&self, entry: &Entry) -> bool {
        (&entry.principal_id, entry.permission, entry.expires_at) == (&self.principal_id, self.permission, self.expires_at)
    }
}

/// A request for access as given.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestAccess {
    /// The id that the request will have.
    pub id: AccessId,
    /// The agent that is to get access.
    pub principal_id: String,
    /// The permission that the agent is to get.
    pub permission: Permission,
    /// The reason.
    pub reason: String,
    /// The abilities that the request claims for the agent.
    pub capabilities: Vec<String>,
    /// How many requests of the caller are open, over all intents; the store counts them.
    pub open_by_caller: usize,
}

/// A person's verdict on a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The agent gets access.
    Approve {
        /// The agent's permission; the requested one if absent.
        permission: Option<Permission>,
        /// When the access ends.
        expires_at: Option<DateTime<Utc>>,
    },
    /// The agent does not get access.
    Deny,
}

/// A change of the access to an intent that a caller asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangeAccess {
    /// Make these the only entries.
    Set(Vec<Grant>),
    /// Give access to an agent, in place of its entry if it has one.
    Grant(Grant),
    /// Remove an entry.
    Revoke(AccessId),
    /// Ask for access.
    Request(RequestAccess),
    /// Decide about a request.
    Decide {
        /// The request.
        request_id: AccessId,
        /// The verdict.
        verdict: Verdict,
        /// The reason.
        reason: Option<String>,
        /// The name of the person in the request's body.
        claimed_decided_by: Option<String>,
    },
}

impl ChangeAccess {
    /// The action that the caller must be allowed.
    pub fn action(&self) -> Action {
        match self {
            Self::Set(_) | Self::Grant(_) | Self::Revoke(_) => Action::ManageAccess,
            Self::Request(_) => Action::RequestAccess,
            Self::Decide { .. } => Action::DecideAccess,
        }
    }
}
