//! Bodies about the access of agents to intents that other agents created (RFC-0011).

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::base::ids::IntentId;
use crate::intent::access::{APPROVED, DENIED, Decided, GRANTED, Granted, PrincipalType, REQUESTED, Requested};
use crate::people::access::Permission;
use crate::wire::EventView;

/// `POST /api/v1/intents/{id}/acl/entries`, and an entry of `PUT /api/v1/intents/{id}/acl`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct GrantAccessRequest {
    /// The agent. A key acts for this agent if this is the key's name or subject, or begins with the key's name and a slash
    /// (`name/…`).
    #[schema(min_length = 1, max_length = 200, examples("refund-worker"))]
    pub principal_id: String,
    /// `agent`; other kinds of principals are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^agent$")]
    pub principal_type: Option<String>,
    /// The agent's permission; `read` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub reason: Option<String>,
    /// When the entry expires.
    #[serde(default, with = "crate::base::time::naive_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
}

/// `PUT /api/v1/intents/{id}/acl`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct SetAclRequest {
    /// `closed`, which is the default; `open` is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^closed$")]
    pub default_policy: Option<String>,
    /// The entries, which replace all present entries. The member is required, so that a body without it does not remove the
    /// present entries.
    #[schema(max_items = 100)]
    pub entries: Vec<GrantAccessRequest>,
}

/// `POST /api/v1/intents/{id}/access-requests`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct RequestAccessRequest {
    /// The agent that is to get access; a caller that may not read the intent asks for itself only.
    #[schema(min_length = 1, max_length = 200, examples("refund-worker"))]
    pub principal_id: String,
    /// `agent`; other kinds of principals are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = "^agent$")]
    pub principal_type: Option<String>,
    /// The permission that the agent is to get; `write` by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requested_permission: Option<Permission>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub reason: Option<String>,
    /// The abilities that the request claims for the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_items = 50)]
    pub capabilities: Option<Vec<String>>,
}

/// `POST /api/v1/intents/{id}/access-requests/{id}/approve`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ApproveAccessRequest {
    /// The person who decides, as the caller states it. The credential says who decided; another name here is kept as
    /// `claimed_decided_by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub decided_by: Option<String>,
    /// The agent's permission; at most the requested one, which is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permission: Option<Permission>,
    /// When the access ends.
    #[serde(default, with = "crate::base::time::naive_option", skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub reason: Option<String>,
}

/// `POST /api/v1/intents/{id}/access-requests/{id}/deny`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct DenyAccessRequest {
    /// The person who decides, as the caller states it. The credential says who decided; another name here is kept as
    /// `claimed_decided_by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub decided_by: Option<String>,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2000)]
    pub reason: Option<String>,
}

/// An entry of an access control list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AclEntryView {
    /// Its id.
    pub id: String,
    /// The intent.
    pub intent_id: IntentId,
    /// The agent.
    pub principal_id: String,
    /// The kind of principal.
    pub principal_type: PrincipalType,
    /// The agent's permission.
    pub permission: Permission,
    /// The name of the credential that gave the access.
    pub granted_by: String,
    /// When it was given, naive UTC.
    pub granted_at: String,
    /// When the entry expires, naive UTC.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<DateTime<Utc>>,
    /// The reason.
    pub reason: Option<String>,
}

/// The access control list of an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AclView {
    /// The intent.
    pub intent_id: IntentId,
    /// Always `closed`: an agent that is not listed has no access, unless it created the intent or is assigned to it.
    pub default_policy: String,
    /// The entries that are in force, in alphabetical order of their agents.
    pub entries: Vec<AclEntryView>,
}

impl AclView {
    /// The list of an intent.
    pub fn of(intent_id: IntentId, entries: Vec<AclEntryView>) -> Self {
        Self { intent_id, default_policy: "closed".to_owned(), entries }
    }
}

/// The state of a request for access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "snake_case")]
pub enum AccessRequestStatus {
    /// No person has decided.
    Pending,
    /// A person approved it.
    Approved,
    /// A person denied it.
    Denied,
}

/// A request for access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccessRequestView {
    /// Its id.
    pub id: String,
    /// The intent.
    pub intent_id: IntentId,
    /// The agent that is to get access.
    pub principal_id: String,
    /// The kind of principal.
    pub principal_type: PrincipalType,
    /// The permission that the agent is to get.
    pub requested_permission: Permission,
    /// The reason.
    pub reason: String,
    /// The abilities that the request claims for the agent.
    pub capabilities: Vec<String>,
    /// The name of the credential that asked.
    pub requested_by: String,
    /// When it was made, naive UTC.
    pub created_at: String,
    /// Its state.
    pub status: AccessRequestStatus,
    /// The permission that the agent got, if the request was approved.
    pub permission: Option<Permission>,
    /// The subject of the credential that decided.
    pub decided_by: Option<String>,
    /// The name in the body of the decision, if the credential has another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub claimed_decided_by: Option<String>,
    /// When it was decided, naive UTC.
    pub decided_at: Option<String>,
    /// The reason of the person who decided.
    pub decision_reason: Option<String>,
}

/// The requests for access to an intent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct AccessRequestList {
    /// Oldest first.
    pub access_requests: Vec<AccessRequestView>,
}

/// The reply to a change of access.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessView {
    /// The list as it is now.
    Acl(AclView),
    /// The new entry.
    Entry(AclEntryView),
    /// The request as it is now.
    Request(AccessRequestView),
    /// An entry was removed.
    Revoked,
}

impl AclEntryView {
    /// The entry that an event of the type `access_granted` makes; `None` for other events.
    pub fn of(event: EventView) -> Option<Self> {
        let EventView { intent_id, actor, payload, created_at, event_type, .. } = event;
        let granted: Granted = (event_type == GRANTED).then(|| serde_json::from_value(payload.into()).ok())??;
        let Granted { id, principal_id, principal_type, permission, expires_at, reason, .. } = granted;
        let id = id.to_string();
        let (granted_by, granted_at) = (actor, created_at);
        Some(Self { id, intent_id, principal_id, principal_type, permission, granted_by, granted_at, expires_at, reason })
    }
}

impl AccessRequestView {
    /// The request that an event of the type `access_requested` makes; `None` for other events.
    pub fn of(event: EventView) -> Option<Self> {
        let EventView { intent_id, actor, payload, created_at, event_type, .. } = event;
        let requested: Requested = (event_type == REQUESTED).then(|| serde_json::from_value(payload.into()).ok())??;
        let Requested { id, principal_id, principal_type, requested_permission, reason, capabilities, .. } = requested;
        Some(Self {
            id: id.to_string(),
            intent_id,
            principal_id,
            principal_type,
            requested_permission,
            reason,
            capabilities,
            requested_by: actor,
            created_at,
            status: AccessRequestStatus::Pending,
            permission: None,
            decided_by: None,
            claimed_decided_by: None,
            decided_at: None,
            decision_reason: None,
        })
    }

    /// The request after this decision; `None` if the event decides about another request, or about none.
    #[must_use]
    pub fn decided(&self, event: &EventView) -> Option<Self> {
        let status = match event.event_type.as_str() {
            APPROVED => AccessRequestStatus::Approved,
            DENIED => AccessRequestStatus::Denied,
            _ => return None,
        };
        let decided: Decided = serde_json::from_value(event.payload.clone().into()).ok()?;
        (decided.request_id.to_string() == self.id).then(|| Self {
            status,
            permission: decided.permission,
            decided_by: Some(decided.decided_by),
            claimed_decided_by: decided.claimed_decided_by,
            decided_at: Some(event.created_at.clone()),
            decision_reason: decided.reason,
            ..self.clone()
        })
    }
}

impl AccessRequestList {
    /// The requests that these events make, with the decisions about them; `None` if an event is not in the form in which this
    /// server writes it.
    pub fn of(events: Vec<EventView>) -> Option<Self> {
        let mut access_requests: Vec<AccessRequestView> = Vec::new();
        for event in events {
            if event.event_type == REQUESTED {
                access_requests.push(AccessRequestView::of(event)?);
                continue;
            }
            let decided = access_requests.iter_mut().find_map(|request| Some((request.decided(&event)?, request)));
            let (decided, request) = decided?;
            *request = decided;
        }
        Some(Self { access_requests })
    }
}
