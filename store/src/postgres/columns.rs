//! Rows as PostgreSQL holds them, and what they mean: short, boring conversions in one place.

use chrono::{DateTime, Utc};
use diesel::Queryable;
use domain::base::ids::{DeliveryId, IntentId, KeyId, LeaseId, SuspensionId};
use domain::intent::Intent;
use domain::intent::body::IntentBody;
use domain::people::principal::{Assurance, Credential, Principal};
use domain::suspension::delivery::BounceKind;
use domain::suspension::lease::Lease;
use domain::suspension::{Asker, Ending, Suspension};
use domain::wire::KeyView;
use serde_json::Value;
use uuid::Uuid;

use crate::rows::{
    BounceRow, Code, DeliveryState, IntentRow, OutboxRow, PresenceRow, Recovery, Restore, RowsError, RowsResult, SuspensionRow,
    TimerRow, TokenRow, last_hash, names,
};

fn unsigned(number: i32) -> RowsResult<u32> {
    u32::try_from(number).map_err(|_| RowsError::Inconsistent("a negative count"))
}

/// Counts are far below 2^31; a larger one is capped rather than wrapped.
pub(super) fn signed(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

#[derive(Queryable)]
pub(super) struct IntentColumns {
    rid: i64,
    id: Uuid,
    status: i32,
    version: i32,
    creator: String,
    creator_owner: String,
    created_at: DateTime<Utc>,
    updated_at: DateTime<Utc>,
    open_suspension: Option<i64>,
    newest_suspension: Option<i64>,
    has_leases: bool,
    last_event: i64,
    last_sequence: i64,
    last_hash: Vec<u8>,
}

impl IntentColumns {
    pub(super) fn into_row(self) -> RowsResult<IntentRow> {
        Ok(IntentRow {
            rid: self.rid,
            intent: Intent {
                id: IntentId(self.id),
                status: Code::from_code(self.status)?,
                version: unsigned(self.version)?,
                created_by: Asker { name: self.creator, owner: self.creator_owner },
                created_at: self.created_at,
                updated_at: self.updated_at,
                open: None,
                ended: Vec::new(),
                leases: Vec::new(),
            },
            open_suspension: self.open_suspension,
            newest_suspension: self.newest_suspension,
            has_leases: self.has_leases,
            last_event: self.last_event,
            last_sequence: u64::try_from(self.last_sequence).map_err(|_| RowsError::Inconsistent("a negative sequence"))?,
            last_hash: last_hash(&self.last_hash)?,
        })
    }
}

#[derive(Queryable)]
pub(super) struct BodyColumns {
    _rid: i64,
    title: Value,
    description: Value,
    created_by: Value,
    parent: Option<Uuid>,
    depends_on: Value,
    constraints: Value,
    state: Value,
    governance_policy: Option<Value>,
    confidence: f64,
}

impl BodyColumns {
    pub(super) fn into_body(self) -> RowsResult<IntentBody> {
        Ok(IntentBody {
            title: serde_json::from_value(self.title)?,
            description: serde_json::from_value(self.description)?,
            created_by: serde_json::from_value(self.created_by)?,
            parent_intent_id: self.parent.map(IntentId),
            depends_on: serde_json::from_value(self.depends_on)?,
            constraints: serde_json::from_value(self.constraints)?,
            state: serde_json::from_value(self.state)?,
            governance_policy: self.governance_policy.map(serde_json::from_value).transpose()?,
            confidence: self.confidence,
        })
    }
}

#[derive(Queryable)]
pub(super) struct SuspensionColumns {
    rid: i64,
    id: Uuid,
    intent: i64,
    event: i64,
    kind: i32,
    version: i32,
    attempt: i32,
    response_type: i32,
    choices: Value,
    suspended_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    fallback_policy: i32,
    fallback_value: Option<Value>,
    reached: bool,
    requires_delivery: bool,
    refusals: i32,
    asker: String,
    asker_owner: String,
    resolution: Option<i32>,
    resolution_reason: Option<i32>,
    resolved_at: Option<DateTime<Utc>>,
    response: Option<Value>,
    resolved_by: Option<String>,
    metadata: Option<Value>,
    reminded_at: Option<DateTime<Utc>>,
}

impl SuspensionColumns {
    pub(super) fn into_row(mut self, intent_id: Uuid) -> RowsResult<SuspensionRow> {
        let ending = self.ending()?;
        Ok(SuspensionRow {
            rid: self.rid,
            intent: self.intent,
            event: self.event,
            suspension: Suspension {
                id: SuspensionId(self.id),
                intent_id: IntentId(intent_id),
                kind: Code::from_code(self.kind)?,
                version: unsigned(self.version)?,
                attempt: unsigned(self.attempt)?,
                response_type: Code::from_code(self.response_type)?,
                choices: serde_json::from_value(self.choices)?,
                suspended_at: self.suspended_at,
                expires_at: self.expires_at,
                fallback_policy: Code::from_code(self.fallback_policy)?,
                fallback_value: self.fallback_value,
                reached: self.reached,
                requires_delivery: self.requires_delivery,
                refusals: unsigned(self.refusals)?,
                asked_by: Asker { name: self.asker, owner: self.asker_owner },
                ending,
                reminded_at: self.reminded_at,
            },
        })
    }

    fn ending(&mut self) -> RowsResult<Option<Ending>> {
        let Some(resolution) = self.resolution else { return Ok(None) };
        Ok(Some(Ending {
            resolution: Code::from_code(resolution)?,
            reason: self.resolution_reason.map(Code::from_code).transpose()?,
            at: self.resolved_at.ok_or(RowsError::Inconsistent("an ended suspension without a time"))?,
            response: self.response.take(),
            by: self.resolved_by.take(),
            metadata: self.metadata.take().map(serde_json::from_value).transpose()?,
        }))
    }
}

#[derive(Queryable)]
pub(super) struct TimerColumns {
    due_at: DateTime<Utc>,
    suspension: i64,
    kind: i32,
    attempt: i32,
}

impl TimerColumns {
    pub(super) fn into_row(self) -> RowsResult<TimerRow> {
        Ok(TimerRow {
            due_at: self.due_at,
            suspension: self.suspension,
            kind: Code::from_code(self.kind)?,
            attempt: unsigned(self.attempt)?,
        })
    }
}

#[derive(Queryable)]
pub(super) struct OutboxColumns {
    rid: i64,
    id: Uuid,
    suspension: i64,
    attempt: i32,
    channel: String,
    recipient: String,
    state: i32,
    due_at: DateTime<Utc>,
    tries: i32,
    lease: Option<Vec<u8>>,
    _leased_by: Option<i32>,
    sequence: i32,
    detail: Option<Value>,
    settled_at: Option<DateTime<Utc>>,
    queued_at: DateTime<Utc>,
    linked: Option<bool>,
}

impl OutboxColumns {
    /// The message, and where it stands.
    pub(super) fn into_both(self) -> RowsResult<(OutboxRow, DeliveryState)> {
        let state = Code::from_code(self.state)?;
        Ok((self.into_row()?, state))
    }

    pub(super) fn into_row(self) -> RowsResult<OutboxRow> {
        Ok(OutboxRow {
            rid: self.rid,
            id: DeliveryId(self.id),
            suspension: self.suspension,
            attempt: unsigned(self.attempt)?,
            channel: self.channel,
            recipient: self.recipient,
            tries: unsigned(self.tries)?,
            due_at: self.due_at,
            lease: self.lease,
            sequence: unsigned(self.sequence)?,
            detail: self.detail.map(serde_json::from_value).transpose()?,
            settled_at: self.settled_at,
            queued_at: self.queued_at,
            linked: self.linked,
        })
    }
}

#[derive(Queryable)]
pub(super) struct BounceColumns {
    _outbox: i64,
    hard: bool,
    reported_at: DateTime<Utc>,
    detail: Option<Value>,
}

impl BounceColumns {
    pub(super) fn into_row(self) -> RowsResult<BounceRow> {
        let kind = if self.hard { BounceKind::Hard } else { BounceKind::Soft };
        Ok(BounceRow { kind, reported_at: self.reported_at, detail: self.detail.map(serde_json::from_value).transpose()? })
    }
}

#[derive(Queryable)]
pub(super) struct TokenColumns {
    rid: i64,
    hash: Vec<u8>,
    suspension: i64,
    recipient: String,
    created_at: DateTime<Utc>,
    delivery: Option<Uuid>,
}

impl TokenColumns {
    pub(super) fn into_row(self) -> TokenRow {
        TokenRow {
            rid: self.rid,
            hash: self.hash,
            suspension: self.suspension,
            recipient: self.recipient,
            created_at: self.created_at,
            delivery: self.delivery.map(DeliveryId),
        }
    }
}

#[derive(Queryable)]
pub(super) struct PresenceColumns {
    _rid: i32,
    version: i64,
    beat_at: DateTime<Utc>,
    held_since: Option<DateTime<Utc>>,
    released: bool,
    tokens_void_to: i64,
    absent_from: Option<DateTime<Utc>>,
    absent_until: Option<DateTime<Utc>>,
    restored: bool,
    done_to: i64,
    up_to: i64,
}

impl PresenceColumns {
    pub(super) fn version(&self) -> i64 {
        self.version
    }

    pub(super) fn into_row(self) -> PresenceRow {
        let Self { restored, done_to, up_to, .. } = self;
        let recovery = |(from, until)| Recovery { from, until, restored, done_to, up_to };
        PresenceRow {
            beat_at: self.beat_at,
            restore: Restore::of(self.held_since, self.released),
            tokens_void_to: self.tokens_void_to,
            recovery: self.absent_from.zip(self.absent_until).map(recovery),
        }
    }
}

#[derive(Queryable)]
pub(super) struct LeaseColumns {
    _rid: i64,
    id: Uuid,
    _intent: i64,
    agent_id: String,
    scope: Value,
    status: i32,
    acquired_at: DateTime<Utc>,
    expires_at: DateTime<Utc>,
    released_at: Option<DateTime<Utc>>,
    duration_seconds: i32,
}

impl LeaseColumns {
    pub(super) fn into_lease(self, intent_id: IntentId) -> RowsResult<Lease> {
        Ok(Lease {
            id: LeaseId(self.id),
            intent_id,
            agent_id: self.agent_id,
            scope: serde_json::from_value(self.scope)?,
            status: Code::from_code(self.status)?,
            acquired_at: self.acquired_at,
            created_at: self.acquired_at,
            expires_at: self.expires_at,
            released_at: self.released_at,
            duration_seconds: unsigned(self.duration_seconds)?,
        })
    }
}

#[derive(Queryable)]
pub(super) struct KeyColumns {
    _rid: i64,
    id: Uuid,
    name: String,
    role: i32,
    subject: String,
    owner: String,
    _hash: Vec<u8>,
    created_at: DateTime<Utc>,
    revoked_at: Option<DateTime<Utc>>,
    tied_to: Option<String>,
}

impl KeyColumns {
    pub(super) fn into_view(self) -> RowsResult<KeyView> {
        Ok(KeyView {
            id: KeyId(self.id),
            name: self.name,
            role: Code::from_code(self.role)?,
            subject: self.subject,
            owner: self.owner,
            tied_to: self.tied_to.as_deref().map(names),
            created_at: self.created_at,
            revoked_at: self.revoked_at,
        })
    }

    pub(super) fn into_principal(self) -> RowsResult<Principal> {
        Ok(Principal {
            credential: Some(Credential::ApiKey(KeyId(self.id))),
            name: self.name,
            subject: self.subject,
            owner: self.owner,
            role: Code::from_code(self.role)?,
            tied_to: self.tied_to.as_deref().map(names),
            assurance: Assurance::ApiKey,
        })
    }
}
