//! Rows as SQLite holds them, and what they mean: short, boring conversions in one place.

use diesel::Queryable;
use domain::base::ids::{DeliveryId, IntentId, KeyId, LeaseId, SuspensionId};
use domain::base::time::from_micros;
use domain::intent::Intent;
use domain::intent::body::IntentBody;
use domain::people::principal::{Assurance, Credential, Principal};
use domain::suspension::delivery::BounceKind;
use domain::suspension::lease::Lease;
use domain::suspension::{Asker, Ending, Suspension};
use domain::wire::KeyView;
use uuid::Uuid;

use crate::rows::{
    BounceRow, Code, DeliveryState, IntentRow, OutboxRow, PresenceRow, Recovery, Restore, RowsError, RowsResult, SuspensionRow,
    TimerRow, TokenRow, last_hash, names,
};

pub(super) fn uuid(bytes: &[u8]) -> RowsResult<Uuid> {
    Uuid::from_slice(bytes).map_err(|_| RowsError::Inconsistent("an id of the wrong length"))
}

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
    id: Vec<u8>,
    status: i32,
    version: i32,
    creator: String,
    creator_owner: String,
    created_at: i64,
    updated_at: i64,
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
                id: IntentId(uuid(&self.id)?),
                status: Code::from_code(self.status)?,
                version: unsigned(self.version)?,
                created_by: Asker { name: self.creator, owner: self.creator_owner },
                created_at: from_micros(self.created_at),
                updated_at: from_micros(self.updated_at),
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
    title: String,
    description: String,
    created_by: String,
    parent: Option<Vec<u8>>,
    depends_on: String,
    constraints: String,
    state: String,
    governance_policy: Option<String>,
    confidence: f64,
}

impl BodyColumns {
    pub(super) fn into_body(self) -> RowsResult<IntentBody> {
        Ok(IntentBody {
            title: self.title,
            description: self.description,
            created_by: self.created_by,
            parent_intent_id: self.parent.as_deref().map(uuid).transpose()?.map(IntentId),
            depends_on: serde_json::from_str(&self.depends_on)?,
            constraints: serde_json::from_str(&self.constraints)?,
            state: serde_json::from_str(&self.state)?,
            governance_policy: self.governance_policy.as_deref().map(serde_json::from_str).transpose()?,
            confidence: self.confidence,
        })
    }
}

#[derive(Queryable)]
pub(super) struct SuspensionColumns {
    rid: i64,
    id: Vec<u8>,
    intent: i64,
    event: i64,
    kind: i32,
    version: i32,
    attempt: i32,
    response_type: i32,
    choices: String,
    suspended_at: i64,
    expires_at: Option<i64>,
    fallback_policy: i32,
    fallback_value: Option<String>,
    reached: bool,
    requires_delivery: bool,
    refusals: i32,
    asker: String,
    asker_owner: String,
    resolution: Option<i32>,
    resolution_reason: Option<i32>,
    resolved_at: Option<i64>,
    response: Option<String>,
    resolved_by: Option<String>,
    metadata: Option<String>,
    reminded_at: Option<i64>,
}

impl SuspensionColumns {
    /// `intent_id` is not in the row: the intent is linked by its own row.
    pub(super) fn into_row(self, intent_id: IntentId) -> RowsResult<SuspensionRow> {
        let ending = self.ending()?;
        Ok(SuspensionRow {
            rid: self.rid,
            intent: self.intent,
            event: self.event,
            suspension: Suspension {
                id: SuspensionId(uuid(&self.id)?),
                intent_id,
                kind: Code::from_code(self.kind)?,
                version: unsigned(self.version)?,
                attempt: unsigned(self.attempt)?,
                response_type: Code::from_code(self.response_type)?,
                choices: serde_json::from_str(&self.choices)?,
                suspended_at: from_micros(self.suspended_at),
                expires_at: self.expires_at.map(from_micros),
                fallback_policy: Code::from_code(self.fallback_policy)?,
                fallback_value: self.fallback_value.as_deref().map(serde_json::from_str).transpose()?,
                reached: self.reached,
                requires_delivery: self.requires_delivery,
                refusals: unsigned(self.refusals)?,
                reminded_at: self.reminded_at.map(from_micros),
                asked_by: Asker { name: self.asker, owner: self.asker_owner },
                ending,
            },
        })
    }

    pub(super) fn intent(&self) -> i64 {
        self.intent
    }

    fn ending(&self) -> RowsResult<Option<Ending>> {
        let Some(resolution) = self.resolution else { return Ok(None) };
        Ok(Some(Ending {
            resolution: Code::from_code(resolution)?,
            reason: self.resolution_reason.map(Code::from_code).transpose()?,
            at: from_micros(self.resolved_at.ok_or(RowsError::Inconsistent("an ended suspension without a time"))?),
            response: self.response.as_deref().map(serde_json::from_str).transpose()?,
            by: self.resolved_by.clone(),
            metadata: self.metadata.as_deref().map(serde_json::from_str).transpose()?,
        }))
    }
}

#[derive(Queryable)]
pub(super) struct TimerColumns {
    due_at: i64,
    suspension: i64,
    kind: i32,
    attempt: i32,
}

impl TimerColumns {
    pub(super) fn into_row(self) -> RowsResult<TimerRow> {
        Ok(TimerRow {
            due_at: from_micros(self.due_at),
            suspension: self.suspension,
            kind: Code::from_code(self.kind)?,
            attempt: unsigned(self.attempt)?,
        })
    }
}

#[derive(Queryable)]
pub(super) struct OutboxColumns {
    rid: i64,
    id: Vec<u8>,
    suspension: i64,
    attempt: i32,
    channel: String,
    recipient: String,
    state: i32,
    due_at: i64,
    tries: i32,
    lease: Option<Vec<u8>>,
    sequence: i32,
    detail: Option<String>,
    settled_at: Option<i64>,
    queued_at: i64,
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
            id: DeliveryId(uuid(&self.id)?),
            suspension: self.suspension,
            attempt: unsigned(self.attempt)?,
            channel: self.channel,
            recipient: self.recipient,
            tries: unsigned(self.tries)?,
            due_at: from_micros(self.due_at),
            lease: self.lease,
            sequence: unsigned(self.sequence)?,
            detail: self.detail,
            settled_at: self.settled_at.map(from_micros),
            queued_at: from_micros(self.queued_at),
            linked: self.linked,
        })
    }
}

#[derive(Queryable)]
pub(super) struct BounceColumns {
    _outbox: i64,
    hard: bool,
    reported_at: i64,
    detail: Option<String>,
}

impl BounceColumns {
    pub(super) fn into_row(self) -> BounceRow {
        let kind = if self.hard { BounceKind::Hard } else { BounceKind::Soft };
        BounceRow { kind, reported_at: from_micros(self.reported_at), detail: self.detail }
    }
}

#[derive(Queryable)]
pub(super) struct TokenColumns {
    rid: i64,
    hash: Vec<u8>,
    suspension: i64,
    recipient: String,
    created_at: i64,
    delivery: Option<Vec<u8>>,
}

impl TokenColumns {
    pub(super) fn into_row(self) -> RowsResult<TokenRow> {
        Ok(TokenRow {
            rid: self.rid,
            hash: self.hash,
            suspension: self.suspension,
            recipient: self.recipient,
            created_at: from_micros(self.created_at),
            delivery: self.delivery.map(|id| uuid(&id).map(DeliveryId)).transpose()?,
        })
    }
}

#[derive(Queryable)]
pub(super) struct PresenceColumns {
    _rid: i64,
    beat_at: i64,
    held_since: Option<i64>,
    released: bool,
    tokens_void_to: i64,
    absent_from: Option<i64>,
    absent_until: Option<i64>,
    restored: bool,
    done_to: i64,
    up_to: i64,
}

impl PresenceColumns {
    pub(super) fn into_row(self) -> PresenceRow {
        let Self { restored, done_to, up_to, .. } = self;
        let recovery = |(from, until)| Recovery { from: from_micros(from), until: from_micros(until), restored, done_to, up_to };
        PresenceRow {
            beat_at: from_micros(self.beat_at),
            restore: Restore::of(self.held_since.map(from_micros), self.released),
            tokens_void_to: self.tokens_void_to,
            recovery: self.absent_from.zip(self.absent_until).map(recovery),
        }
    }
}

#[derive(Queryable)]
pub(super) struct LeaseColumns {
    _rid: i64,
    id: Vec<u8>,
    _intent: i64,
    agent_id: String,
    scope: String,
    status: i32,
    acquired_at: i64,
    expires_at: i64,
    released_at: Option<i64>,
    duration_seconds: i32,
}

impl LeaseColumns {
    pub(super) fn into_lease(self, intent_id: IntentId) -> RowsResult<Lease> {
        let acquired_at = from_micros(self.acquired_at);
        Ok(Lease {
            id: LeaseId(uuid(&self.id)?),
            intent_id,
            agent_id: self.agent_id,
            scope: self.scope,
            status: Code::from_code(self.status)?,
            acquired_at,
            created_at: acquired_at,
            expires_at: from_micros(self.expires_at),
            released_at: self.released_at.map(from_micros),
            duration_seconds: unsigned(self.duration_seconds)?,
        })
    }
}

#[derive(Queryable)]
pub(super) struct KeyColumns {
    _rid: i64,
    id: Vec<u8>,
    name: String,
    role: i32,
    subject: String,
    owner: String,
    _hash: Vec<u8>,
    created_at: i64,
    revoked_at: Option<i64>,
    tied_to: Option<String>,
}

impl KeyColumns {
    pub(super) fn into_view(self) -> RowsResult<KeyView> {
        Ok(KeyView {
            id: KeyId(uuid(&self.id)?),
            name: self.name,
            role: Code::from_code(self.role)?,
            subject: self.subject,
            owner: self.owner,
            tied_to: self.tied_to.as_deref().map(names),
            created_at: from_micros(self.created_at),
            revoked_at: self.revoked_at.map(from_micros),
        })
    }

    pub(super) fn into_principal(self) -> RowsResult<Principal> {
        Ok(Principal {
            credential: Some(Credential::ApiKey(KeyId(uuid(&self.id)?))),
            name: self.name,
            subject: self.subject,
            owner: self.owner,
            role: Code::from_code(self.role)?,
            tied_to: self.tied_to.as_deref().map(names),
            assurance: Assurance::ApiKey,
        })
    }
}
