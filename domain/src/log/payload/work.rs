//! Payloads of an agent's work: the intent, its state, its status, its leases.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::ids::{IntentId, LeaseId};
use crate::base::json::present;
use crate::intent::body::{self, IntentBody, PatchOp};
use crate::intent::dependency::BlockedReason;
use crate::intent::status::Status;
use crate::suspension::lease::{self, LeaseStatus};

/// An intent as it began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct IntentCreated {
    /// Its title.
    pub title: String,
    /// Its description, possibly empty.
    pub description: String,
    /// The name of its creator, as shown.
    pub created_by: String,
    /// Its parent.
    pub parent_intent_id: Option<IntentId>,
    /// The intents it depends on.
    pub depends_on: Vec<IntentId>,
    /// Its constraints, an object or a legacy list.
    pub constraints: Value,
    /// Its state.
    pub state: Map<String, Value>,
    /// Its governance policy.
    pub governance_policy: Option<Value>,
    /// How sure the agent is, 0 to 100.
    pub confidence: f64,
    /// Its first status.
    pub status: Status,
}

impl IntentCreated {
    pub(super) fn of(body: &IntentBody, status: Status) -> Self {
        let IntentBody {
            title,
            description,
            created_by,
            parent_intent_id,
            depends_on,
            constraints,
            state,
            governance_policy,
            confidence,
        } = body.clone();
        Self {
            title,
            description,
            created_by,
            parent_intent_id,
            depends_on,
            constraints,
            state,
            governance_policy,
            confidence,
            status,
        }
    }
}

/// Changes of an intent's state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatePatched {
    /// The changes, in order.
    pub patches: Vec<Patch>,
}

/// One change of the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Patch {
    /// The kind of change.
    pub op: PatchOp,
    /// The place in the state, as it was written.
    pub path: String,
    /// The value; null for a removal.
    pub value: Value,
}

impl StatePatched {
    pub(super) fn of(patches: &[body::Patch]) -> Self {
        let patch = |patch: &body::Patch| Patch { op: patch.op, path: patch.path.clone(), value: patch.value.clone() };
        Self { patches: patches.iter().map(patch).collect() }
    }
}

/// A change of an intent's status.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusChanged {
    /// The status before.
    pub old_status: Status,
    /// The status from now on.
    pub new_status: Status,
    /// The reason, in the caller's or the server's words.
    pub reason: Option<String>,
    /// The same as `reason`, if the intent was abandoned; absent otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none", deserialize_with = "present")]
    pub abandonment_reason: Option<Option<String>>,
    /// If the server blocked the intent: why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_reason: Option<BlockedReason>,
    /// The intents that were not completed when a person completed this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overrides: Vec<IntentId>,
}

impl StatusChanged {
    pub(super) fn of(
        (old_status, new_status): (Status, Status),
        reason: Option<String>,
        blocked_reason: Option<BlockedReason>,
        overrides: Vec<IntentId>,
    ) -> Self {
        let abandonment_reason = (new_status == Status::Abandoned).then(|| reason.clone());
        Self { old_status, new_status, reason, abandonment_reason, blocked_reason, overrides }
    }
}

/// A lease that was taken, prolonged or released, in its new state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Its id.
    pub id: LeaseId,
    /// The intent.
    pub intent_id: IntentId,
    /// The holder.
    pub agent_id: String,
    /// The top-level key of the state that it covers.
    pub scope: String,
    /// The status of the lease.
    pub status: LeaseStatus,
    /// When it was taken.
    #[serde(with = "crate::base::time::naive_form")]
    pub acquired_at: DateTime<Utc>,
    /// The same time, under the name that the OpenIntent client reads.
    #[serde(with = "crate::base::time::naive_form")]
    pub created_at: DateTime<Utc>,
    /// When the lease runs out.
    #[serde(with = "crate::base::time::naive_form")]
    pub expires_at: DateTime<Utc>,
    /// When it was released.
    #[serde(with = "crate::base::time::naive_option")]
    pub released_at: Option<DateTime<Utc>>,
    /// The requested duration, in seconds.
    pub duration_seconds: u32,
}

impl Lease {
    pub(super) fn of(lease: &lease::Lease) -> Self {
        let lease::Lease {
            id,
            intent_id,
            agent_id,
            scope,
            status,
            acquired_at,
            created_at,
            expires_at,
            released_at,
            duration_seconds,
        } = lease.clone();
        Self { id, intent_id, agent_id, scope, status, acquired_at, created_at, expires_at, released_at, duration_seconds }
    }
}
