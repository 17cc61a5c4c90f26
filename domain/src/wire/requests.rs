//! Bodies about requests to people that do not suspend the intent (RFC-0013): approvals, escalations and arbitrations.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use crate::base::ids::{IntentId, SuspensionId};
use crate::base::sealed::Hash;
use crate::suspension::assignees::Assignees;
use crate::suspension::demand::{RequiredAssurance, Risk};
use crate::suspension::evidence::action_digest;
use crate::suspension::grounds::{Explanation, Reversibility};
use crate::suspension::quorum::{Quorum, Tally};
use crate::suspension::requested::{APPROVE, Requested};
use crate::suspension::{Kind, Resolution};
use crate::wire::{CountedAnswer, QuorumRequest, SuspensionRecord};

/// `POST /api/v1/intents/{id}/approvals`: asks people to approve an action. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ApprovalRequest {
    /// The action. If the intent's policy requires an approval, the intent can be completed only after a person has approved the
    /// action `complete`.
    #[schema(min_length = 1, max_length = 200, examples("complete"))]
    pub action: String,
    /// The reason.
    #[serde(default)]
    #[schema(max_length = 1_000)]
    pub reason: String,
    /// Data that people read; at most 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub context: Option<Map<String, Value>>,
    /// The agent that asks. If the key may not act for this agent, the name is kept as `claimed_requested_by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub requested_by: Option<String>,
    /// The people to whom the request is assigned: only they may decide it, and they are asked in place of the server's default operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Assignees>,
    /// How much can go wrong: `low`, `medium`, `high` or `critical`. The server may demand more of the person the higher it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The agent's own name for requests of this kind, 1 to 200 characters. People see the newest decisions about requests with the same key
    /// of the same agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub question_key: Option<String>,
    /// The agent's explanation of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Whether the action can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversibility: Option<Reversibility>,
    /// The agent's confidence, 0 to 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(minimum = 0, maximum = 1)]
    pub confidence: Option<f64>,
    /// How many people must agree; one decision is enough if it is absent. Without `assignees`, all listed operators and admins may decide
    /// then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quorum: Option<QuorumRequest>,
    /// How sure the server must be of the person who decides. It can raise the floor that the server has for the request, and not lower it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_assurance: Option<RequiredAssurance>,
    /// The arguments of the action, at most 64 KiB. The decision has the action as the person approved it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub proposal: Option<Map<String, Value>>,
    /// The JSON Schema (draft 2020-12) of the members of `proposal` that people may edit, at most 16 KiB; people edit nothing without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub editable: Option<Map<String, Value>>,
}

/// `POST /api/v1/intents/{id}/approvals/{id}/approve` and `…/deny`. The body may be empty; unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct DecideApprovalRequest {
    /// The reasons of the person; `reason` means the same.
    #[serde(default, alias = "reason", skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub notes: Option<String>,
    /// The person who decides. A key of the role `channel` must name this person. With a key of another role, the subject of the
    /// key is the person, and another name here is kept as a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub decided_by: Option<String>,
    /// The action as the person approves it, with the edits of the person; as it stands if it is absent. Only for an approval that proposes
    /// an action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub proposal: Option<Map<String, Value>>,
    /// The `action_digest` from which the person decides; needed if another person has edited the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub based_on: Option<String>,
}

/// `POST /api/v1/intents/{id}/escalations`: asks people how to go on. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct EscalationRequest {
    /// The reason.
    #[schema(min_length = 1, max_length = 1_000)]
    pub reason: String,
    /// `low`, `medium`, `high` or `critical`; `medium` by default. It is shown, and changes nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<String>,
    /// As `priority`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub urgency: Option<String>,
    /// Data that people read; at most 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub context: Option<Map<String, Value>>,
    /// The agent that asks. If the key may not act for this agent, the name is kept as `claimed_escalated_by`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub escalated_by: Option<String>,
    /// The people to whom the request is assigned: only they may decide it, and they are asked in place of the server's default operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Assignees>,
    /// How much can go wrong: `low`, `medium`, `high` or `critical`. The server may demand more of the person the higher it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The agent's own name for requests of this kind, 1 to 200 characters. People see the newest decisions about requests with the same key
    /// of the same agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub question_key: Option<String>,
    /// The agent's explanation of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Whether the action can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversibility: Option<Reversibility>,
}

/// `POST /api/v1/escalations/{id}/resolve`. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct ResolveEscalationRequest {
    /// How to go on; at most 16 KiB.
    #[schema(min_length = 1, max_length = 16_384)]
    pub resolution: String,
    /// The reasons of the person.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 2_000)]
    pub notes: Option<String>,
    /// The person who decides. A key of the role `channel` must name this person. With a key of another role, the subject of the
    /// key is the person, and another name here is kept as a claim.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub resolved_by: Option<String>,
}

/// `POST /api/v1/intents/{id}/arbitrate`: asks people to settle a conflict. Unknown fields are ignored.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, ToSchema)]
pub struct ArbitrationRequest {
    /// The reason.
    #[schema(min_length = 1, max_length = 1_000)]
    pub reason: String,
    /// Data that people read; at most 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub context: Option<Map<String, Value>>,
    /// The agent that asks. If the key may not act for this agent, the name is kept as `claimed_requester_id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(max_length = 200)]
    pub requested_by: Option<String>,
    /// The people to whom the request is assigned: only they may decide it, and they are asked in place of the server's default operators.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Assignees>,
    /// How much can go wrong: `low`, `medium`, `high` or `critical`. The server may demand more of the person the higher it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub risk: Option<Risk>,
    /// The agent's own name for requests of this kind, 1 to 200 characters. People see the newest decisions about requests with the same key
    /// of the same agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(min_length = 1, max_length = 200)]
    pub question_key: Option<String>,
    /// The agent's explanation of the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explanation: Option<Explanation>,
    /// Whether the action can be taken back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reversibility: Option<Reversibility>,
}

/// An approval as shown.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ApprovalView {
    /// Its id: the id of its suspension, which `/api/v1/suspensions/{id}` shows whole.
    pub id: SuspensionId,
    /// The intent.
    pub intent_id: IntentId,
    /// The agent that asked.
    pub requested_by: String,
    /// The agent that the body named, if the key may not act for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_requested_by: Option<String>,
    /// The action.
    pub action: String,
    /// The reason.
    pub reason: String,
    /// Data that people read.
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
    /// `pending`, `approved`, `denied`, `expired` or `cancelled`.
    pub status: &'static str,
    /// The version of the intent that the approval is about.
    pub intent_version: u32,
    /// When it was asked for.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String)]
    pub created_at: DateTime<Utc>,
    /// Until when a person can decide.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<DateTime<Utc>>,
    /// When a person decided.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub decided_at: Option<DateTime<Utc>>,
    /// The person who decided.
    pub decided_by: Option<String>,
    /// The reasons of that person.
    pub decision_notes: Option<String>,
    /// How sure the server must be of the person who decides; absent if every decision counts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_assurance: Option<RequiredAssurance>,
    /// The people to whom the request is assigned: only they may decide. Absent if it is assigned to no one in particular.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assignees: Option<Assignees>,
    /// How many people must agree; absent if one decision is enough.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quorum: Option<Quorum>,
    /// While more people must agree: how many people have approved the action as it stands, and how many must at least. In the reply to a
    /// decision: how many people have decided alike, and how many must.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approvals: Option<Tally>,
    /// The decisions so far, while more people must agree.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub counted: Vec<CountedAnswer>,
    /// The arguments of the action: while the approval is pending as they stand, with the edits of people whose decisions count, and then as
    /// they were approved. Only this action may be carried out. Absent if the request proposes none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub proposal: Option<Map<String, Value>>,
    /// The action as the agent proposed it; absent if it was not edited.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub original_proposal: Option<Map<String, Value>>,
    /// SHA-256 of the RFC 8785 bytes of `proposal`; absent without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub action_digest: Option<Hash>,
    /// The same of the action as the agent proposed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = r"^sha256:[A-Za-z0-9_-]{43}$")]
    pub proposed_digest: Option<Hash>,
}

/// The approvals of an intent, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ApprovalList {
    /// The approvals.
    pub approvals: Vec<ApprovalView>,
}

/// An escalation as shown.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct EscalationView {
    /// Its id: the id of its suspension, which `/api/v1/suspensions/{id}` shows whole.
    pub id: SuspensionId,
    /// The intent.
    pub intent_id: IntentId,
    /// The agent that asked.
    pub escalated_by: String,
    /// The agent that the body named, if the key may not act for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_escalated_by: Option<String>,
    /// The reason.
    pub reason: String,
    /// How important it is, in the words of the agent.
    pub priority: String,
    /// How soon it is needed, in the words of the agent.
    pub urgency: String,
    /// Data that people read.
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
    /// `pending`, `resolved`, `expired` or `cancelled`.
    pub status: &'static str,
    /// When it was asked for.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String)]
    pub created_at: DateTime<Utc>,
    /// Until when a person can decide.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub expires_at: Option<DateTime<Utc>>,
    /// When a person decided.
    #[serde(with = "crate::base::time::naive_option")]
    #[schema(value_type = Option<String>)]
    pub resolved_at: Option<DateTime<Utc>>,
    /// The person who decided.
    pub resolved_by: Option<String>,
    /// How to go on.
    #[schema(value_type = Option<Value>)]
    pub resolution: Option<Value>,
    /// The reasons of that person.
    pub resolution_notes: Option<String>,
}

/// Escalations, newest first.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct EscalationList {
    /// The escalations.
    pub escalations: Vec<EscalationView>,
}

/// An arbitration as shown.
#[derive(Clone, Debug, PartialEq, Serialize, ToSchema)]
pub struct ArbitrationView {
    /// Its id: the id of its suspension, which `/api/v1/suspensions/{id}` shows whole.
    pub id: SuspensionId,
    /// The intent.
    pub intent_id: IntentId,
    /// The agent that asked.
    pub requester_id: String,
    /// The agent that the body named, if the key may not act for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_requester_id: Option<String>,
    /// The reason.
    pub reason: String,
    /// Data that people read.
    #[schema(value_type = Object)]
    pub context: Map<String, Value>,
    /// `pending`, `resolved`, `expired` or `cancelled`.
    pub status: &'static str,
    /// When it was asked for.
    #[serde(with = "crate::base::time::naive_form")]
    #[schema(value_type = String)]
    pub created_at: DateTime<Utc>,
}

/// The request of a record, if it is one of this kind.
fn requested(record: &SuspensionRecord, kind: Kind) -> Option<Requested> {
    record.requested.as_deref().filter(|_| record.kind == kind).cloned()
}

/// The state of a request; `decided` is the word for a request that a person has decided.
fn status(record: &SuspensionRecord, decided: &'static str) -> &'static str {
    match record.resolution {
        None => "pending",
        Some(Resolution::Responded) => decided,
        Some(Resolution::Expired) => "expired",
        Some(Resolution::Cancelled) => "cancelled",
    }
}

/// The words that a person added to the decision: in `notes` or `comment`, depending on the way by which the decision came.
fn notes(record: &SuspensionRecord) -> Option<String> {
    let metadata = record.metadata.as_ref()?;
    ["notes", "comment"].into_iter().find_map(|name| metadata.get(name)?.as_str().map(str::to_owned))
}

impl ApprovalView {
    /// The approval in this record; `None` for other suspensions.
    pub fn of(record: SuspensionRecord) -> Option<Self> {
        let requested = requested(&record, Kind::Approval)?;
        let approved = record.response.as_ref().is_some_and(|value| value == APPROVE);
        let proposed = record.original_proposal.as_ref().or(record.proposal.as_ref());
        Some(Self {
            proposed_digest: proposed.and_then(action_digest),
            approvals: record.approvals,
            id: record.id,
            intent_id: record.intent_id,
            requested_by: requested.requested_by,
            claimed_requested_by: requested.claimed_requested_by,
            action: requested.action.unwrap_or_default(),
            reason: requested.reason,
            status: status(&record, if approved { "approved" } else { "denied" }),
            intent_version: requested.intent_version,
            created_at: record.suspended_at,
            expires_at: record.expires_at,
            decided_at: record.responded_at,
            decision_notes: notes(&record),
            decided_by: record.responded_by,
            context: record.context,
            required_assurance: record.required_assurance,
            assignees: record.assignees,
            quorum: record.quorum,
            counted: record.counted,
            proposal: record.proposal,
            original_proposal: record.original_proposal,
            action_digest: record.action_digest,
        })
    }
}

impl EscalationView {
    /// The escalation in this record; `None` for other suspensions.
    pub fn of(record: SuspensionRecord) -> Option<Self> {
        let requested = requested(&record, Kind::Escalation)?;
        Some(Self {
            id: record.id,
            intent_id: record.intent_id,
            escalated_by: requested.requested_by,
            claimed_escalated_by: requested.claimed_requested_by,
            reason: requested.reason,
            priority: requested.priority.unwrap_or_default(),
            urgency: requested.urgency.unwrap_or_default(),
            status: status(&record, "resolved"),
            created_at: record.suspended_at,
            expires_at: record.expires_at,
            resolved_at: record.responded_at,
            resolution_notes: notes(&record),
            resolved_by: record.responded_by,
            resolution: record.response,
            context: record.context,
        })
    }
}

impl ArbitrationView {
    /// The arbitration in this record; `None` for other suspensions.
    pub fn of(record: SuspensionRecord) -> Option<Self> {
        let requested = requested(&record, Kind::Arbitration)?;
        Some(Self {
            id: record.id,
            intent_id: record.intent_id,
            requester_id: requested.requested_by,
            claimed_requester_id: requested.claimed_requested_by,
            reason: requested.reason,
            status: status(&record, "resolved"),
            created_at: record.suspended_at,
            context: record.context,
        })
    }
}
