//! Rows as the databases hold them, and their conversions to the store's rows: short, and written once for both databases.
//! A struct lists the columns it reads, by their names in [`schema`](crate::schema). Statements are written from the same list,
//! so the columns in the text of a statement cannot come in another order than the fields of the struct.

use diesel::Queryable;
use diesel::expression::Expression;
use domain::base::ids::{
    AccessId, DeliveryId, IntentId, KeyId, LeaseId, MembershipId, PortfolioId, ReceiptId, SubscriptionId, SuspensionId,
};
use domain::form::Schema;
use domain::intent::Intent;
use domain::intent::access::OpenRequest;
use domain::intent::announcement::Announcement;
use domain::intent::body::IntentBody;
use domain::intent::receipt::Standing;
use domain::log::{Hash, Sealed};
use domain::people::access::Entry;
use domain::people::client::Client;
use domain::people::principal::{Assurance, Credential, Principal};
use domain::portfolio::membership::Membership;
use domain::portfolio::{Portfolio, PortfolioBody, PortfolioPolicy};
use domain::subscription::{Push, Subscription, SubscriptionBody};
use domain::suspension::delivery::BounceKind;
use domain::suspension::lease::Lease;
use domain::suspension::quorum::Quorum;
use domain::suspension::{Asker, Ending, Suspension, SuspensionChoice};
use domain::wire::KeyView;
use serde_json::Value;

use crate::rows::{
    AccessRequestRow, BounceRow, Code, DeliveryState, EntryRow, IntentRow, MemberRow, OutboxRow, PortfolioRow, PresenceRow,
    ReceiptRow, Recovery, Restore, RowsError, RowsResult, SubscriptionPlace, SubscriptionRow, SuspensionRow, TimerRow, TokenRow,
    last_hash, names,
};
use crate::schema;
use crate::sql::{At, Json, Key, Owned, Said};

pub(crate) fn unsigned(number: i32) -> RowsResult<u32> {
    u32::try_from(number).map_err(|_| RowsError::Inconsistent("a negative count"))
}

/// Counts are far below 2^31; a larger one is capped rather than wrapped.
pub(crate) fn signed(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// The columns that a struct reads.
pub(crate) trait Columns {
    /// The types of the columns, in order.
    type Sql;
}

/// Makes the macro that writes the names of columns into statements.
macro_rules! listed {
    ($name:ident: $($column:ident),*) => {};
    ($name:ident, $list:ident: $first:ident $(, $column:ident)*) => {
        macro_rules! $list {
            () => { concat!(stringify!($first) $(, ", ", stringify!($column))*) };
        }
        pub(crate) use $list;
    };
    ($name:ident, $list:ident behind $alias:ident: $first:ident $(, $column:ident)*) => {
        macro_rules! $list {
            () => { concat!(stringify!($first) $(, ", ", stringify!($column))*) };
            (behind $alias) => {
                concat!(
                    stringify!($alias), ".", stringify!($first)
                    $(, ", ", stringify!($alias), ".", stringify!($column))*
                )
            };
        }
        pub(crate) use $list;
    };
}

/// Makes a struct of columns and, where statements list them, a macro of their names: `$list!()`, or `$list!(behind s)` with the
/// alias of the table before each name.
macro_rules! columns {
    ($(#[$doc:meta])* $name:ident of $table:ident $(as $list:ident $(behind $alias:ident)?)? {
        $first:ident: $first_rust:ty, $($column:ident: $rust:ty),* $(,)?
    }) => {
        $(#[$doc])*
        #[derive(Queryable)]
        pub(crate) struct $name {
            $first: $first_rust,
            $($column: $rust),*
        }

        impl $name {
            /// The columns, for a diesel query.
            pub(crate) fn selection() -> (schema::$table::$first, $(schema::$table::$column),*) {
                (schema::$table::$first, $(schema::$table::$column),*)
            }
        }

        impl Columns for $name {
            type Sql = (
                <schema::$table::$first as Expression>::SqlType,
                $(<schema::$table::$column as Expression>::SqlType),*
            );
        }

        listed!($name $(, $list $(behind $alias)?)?: $first $(, $column)*);
    };
}

columns!(
    IntentColumns of intents as intent_columns {
        rid: i64,
        id: Key,
        status: i32,
        version: i32,
        creator: String,
        creator_owner: Owned,
        created_at: At,
        updated_at: At,
        open_suspension: Option<i64>,
        newest_suspension: Option<i64>,
        has_leases: bool,
        last_event: i64,
        last_sequence: i64,
        last_hash: Vec<u8>,
        unmet: i32,
        is_held: bool,
        is_grouped: bool,
        has_tasks: bool, is_errand: bool,
    }
);

columns!(
    EntryColumns of access_entries {
        principal_id: String,
        id: Key,
        permission: i32,
        expires_at: Option<At>,
        event: i64,
    }
);

impl EntryColumns {
    pub(crate) fn into_row(self) -> RowsResult<EntryRow> {
        let entry = Entry {
            id: AccessId(self.id.0),
            principal_id: self.principal_id,
            permission: Code::from_code(self.permission)?,
            expires_at: self.expires_at.map(|at| at.0),
        };
        Ok(EntryRow { entry, event: self.event })
    }
}

columns!(
    AccessRequestColumns of access_requests {
        id: Key,
        principal_id: String,
        requester: String,
        requester_owner: Owned,
        permission: i32,
        event: i64,
    }
);

impl AccessRequestColumns {
    pub(crate) fn into_row(self) -> RowsResult<AccessRequestRow> {
        let request = OpenRequest {
            id: AccessId(self.id.0),
            principal_id: self.principal_id,
            requested_by: Asker { name: self.requester, owner: self.requester_owner.0 },
            permission: Code::from_code(self.permission)?,
        };
        Ok(AccessRequestRow { request, event: self.event })
    }
}

impl IntentColumns {
    pub(crate) fn into_row(self) -> RowsResult<IntentRow> {
        Ok(IntentRow {
            rid: self.rid,
            intent: Intent {
                version: unsigned(self.version)?,
                updated_at: self.updated_at.0,
                unmet: unsigned(self.unmet)?,
                is_held: self.is_held,
                is_grouped: self.is_grouped,
                has_tasks: self.has_tasks,
                is_errand: self.is_errand,
                ..Intent::born(
                    IntentId(self.id.0),
                    Code::from_code(self.status)?,
                    Asker { name: self.creator, owner: self.creator_owner.0 },
                    self.created_at.0,
                )
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

columns!(
    SubscriptionColumns of subscriptions {
        rid: i64,
        id: Key,
        creator: String,
        creator_owner: Owned,
        key_id: Key,
        claimed_subscriber: Option<Said>,
        event_types: Json<Vec<String>>,
        webhook_url: String,
        created_at: At,
        expires_at: At,
        sequence: i64,
        missed: i64,
        tries: i32,
        due_at: At,
        lease: Option<Vec<u8>>,
        push_id: Option<String>,
        push: Option<Vec<u8>>,
    }
);

impl SubscriptionColumns {
    pub(crate) fn into_row(self, intent: IntentRow) -> RowsResult<SubscriptionRow> {
        let (claimed_subscriber, event_types) = (self.claimed_subscriber.map(|name| name.0), self.event_types.0);
        let (webhook_url, expires_at) = (self.webhook_url, self.expires_at.0);
        let body = SubscriptionBody { claimed_subscriber, event_types, webhook_url, expires_at };
        let (id, key_id, created_at) = (SubscriptionId(self.id.0), KeyId(self.key_id.0), self.created_at.0);
        let created_by = Asker { name: self.creator, owner: self.creator_owner.0 };
        let push = self.push_id.zip(self.push).map(|(id, sealed)| Push { id, sealed });
        let intent_id = intent.intent.id;
        let subscription = Subscription { id, intent_id, created_by, key_id, created_at, body, push };
        let lease = self.lease.map(TryInto::try_into).transpose();
        let place = SubscriptionPlace {
            sequence: u64::try_from(self.sequence).map_err(|_| RowsError::Inconsistent("a negative sequence"))?,
            missed: u64::try_from(self.missed).map_err(|_| RowsError::Inconsistent("a negative count"))?,
            tries: unsigned(self.tries)?,
            due_at: self.due_at.0,
            lease: lease.map_err(|_| RowsError::Inconsistent("a lease of the wrong length"))?,
        };
        Ok(SubscriptionRow { rid: self.rid, subscription, place, intent })
    }
}

columns!(
    BodyColumns of intent_bodies {
        title: Said,
        description: Said,
        created_by: Said,
        parent: Option<Key>,
        depends_on: Json<Vec<IntentId>>,
        constraints: Json<Value>,
        state: Json<serde_json::Map<String, Value>>,
        governance_policy: Option<Json<Value>>,
        confidence: f64,
    }
);

impl BodyColumns {
    pub(crate) fn into_body(self) -> IntentBody {
        IntentBody {
            title: self.title.0,
            description: self.description.0,
            created_by: self.created_by.0,
            parent_intent_id: self.parent.map(|id| IntentId(id.0)),
            depends_on: self.depends_on.0,
            constraints: self.constraints.0,
            state: self.state.0,
            governance_policy: self.governance_policy.map(|policy| policy.0),
            confidence: self.confidence,
        }
    }
}

columns!(
    SuspensionColumns of suspensions as suspension_columns behind s {
        rid: i64,
        id: Key,
        intent: i64,
        event: i64,
        kind: i32,
        version: i32,
        attempt: i32,
        response_type: i32,
        choices: Json<Vec<SuspensionChoice>>,
        suspended_at: At,
        expires_at: Option<At>,
        fallback_policy: i32,
        fallback_value: Option<Json<Value>>,
        reached: bool,
        requires_delivery: bool,
        refusals: i32,
        asker: String,
        asker_owner: Owned,
        resolution: Option<i32>,
        resolution_reason: Option<i32>,
        resolved_at: Option<At>,
        response: Option<Json<Value>>,
        resolved_by: Option<String>,
        metadata: Option<Json<serde_json::Map<String, Value>>>,
        reminded_at: Option<At>,
        fixed_deadline: bool,
        ending_event: Option<i64>,
        quorum: Option<Json<Quorum>>,
        form: Option<Json<Schema>>,
        hands: Option<Json<domain::suspension::hands::Hands>>,
        places: Option<Json<Vec<String>>>,
    }
);

impl SuspensionColumns {
    /// The row of the suspension's intent.
    pub(crate) fn intent(&self) -> i64 {
        self.intent
    }

    pub(crate) fn into_row(mut self, intent_id: IntentId) -> RowsResult<SuspensionRow> {
        let ending = self.ending()?;
        Ok(SuspensionRow {
            rid: self.rid,
            intent: self.intent,
            event: self.event,
            ending_event: self.ending_event,
            places: self.places.map(|places| places.0).unwrap_or_default(),
            suspension: Suspension {
                id: SuspensionId(self.id.0),
                intent_id,
                kind: Code::from_code(self.kind)?,
                version: unsigned(self.version)?,
                attempt: unsigned(self.attempt)?,
                response_type: Code::from_code(self.response_type)?,
                choices: self.choices.0,
                suspended_at: self.suspended_at.0,
                expires_at: self.expires_at.map(|at| at.0),
                fallback_policy: Code::from_code(self.fallback_policy)?,
                fallback_value: self.fallback_value.map(|value| value.0),
                reached: self.reached,
                requires_delivery: self.requires_delivery,
                refusals: unsigned(self.refusals)?,
                asked_by: Asker { name: self.asker, owner: self.asker_owner.0 },
                ending,
                reminded_at: self.reminded_at.map(|at| at.0),
                fixed_deadline: self.fixed_deadline,
                quorum: self.quorum.map(|quorum| quorum.0),
                schema: self.form.map(|schema| Box::new(schema.0)),
                counted: Vec::new(),
                hands: self.hands.map(|hands| hands.0).unwrap_or_default(),
                portfolio_deadline: None,
            },
        })
    }

    fn ending(&mut self) -> RowsResult<Option<Ending>> {
        let Some(resolution) = self.resolution else { return Ok(None) };
        Ok(Some(Ending {
            resolution: Code::from_code(resolution)?,
            reason: self.resolution_reason.map(Code::from_code).transpose()?,
            at: self.resolved_at.ok_or(RowsError::Inconsistent("an ended suspension without a time"))?.0,
            response: self.response.take().map(|response| response.0),
            by: self.resolved_by.take(),
            metadata: self.metadata.take().map(|metadata| metadata.0),
        }))
    }
}

columns!(
    ReceiptColumns of receipts {
        suspension: i64,
        id: Key,
        event: i64,
        statement: Vec<u8>,
        standing: i32,
        closed_by: Option<String>,
        closed_at: Option<At>,
    }
);

impl ReceiptColumns {
    pub(crate) fn into_row(self) -> RowsResult<ReceiptRow> {
        let standing = match (self.standing, self.closed_by, self.closed_at) {
            (0, _, _) => Standing::Unused,
            (1, Some(by), Some(at)) => Standing::Consumed { by, at: at.0 },
            (2, Some(by), Some(at)) => Standing::Revoked { by, at: at.0 },
            _ => return Err(RowsError::Inconsistent("a receipt is closed, and the row does not say how")),
        };
        let Self { suspension, id, event, statement, .. } = self;
        Ok(ReceiptRow { suspension, id: ReceiptId(id.0), event, statement, standing })
    }
}

/// How far a receipt has come, as its row says it: the code, and the name of the key and the time if it is closed.
pub(crate) fn closed(standing: &Standing) -> (i32, Option<&str>, Option<At>) {
    match standing {
        Standing::Unused => (0, None, None),
        Standing::Consumed { by, at } => (1, Some(by), Some(At(*at))),
        Standing::Revoked { by, at } => (2, Some(by), Some(At(*at))),
    }
}

columns!(
    AnnouncementColumns of announcements {
        id: Key,
        from_status: i32,
        announced_at: At,
        asker: String,
        asker_owner: Owned,
    }
);

impl AnnouncementColumns {
    pub(crate) fn into_announcement(self) -> RowsResult<Announcement> {
        Ok(Announcement {
            id: SuspensionId(self.id.0),
            from: Code::from_code(self.from_status)?,
            at: self.announced_at.0,
            by: Asker { name: self.asker, owner: self.asker_owner.0 },
        })
    }
}

columns!(
    TimerColumns of timers {
        due_at: At,
        suspension: i64,
        kind: i32,
        attempt: i32,
    }
);

impl TimerColumns {
    pub(crate) fn into_row(self) -> RowsResult<TimerRow> {
        Ok(TimerRow {
            due_at: self.due_at.0,
            suspension: self.suspension,
            kind: Code::from_code(self.kind)?,
            attempt: unsigned(self.attempt)?,
        })
    }
}

columns!(
    OutboxColumns of outbox as outbox_columns behind o {
        rid: i64,
        id: Key,
        suspension: i64,
        attempt: i32,
        channel: String,
        recipient: String,
        state: i32,
        due_at: At,
        tries: i32,
        lease: Option<Vec<u8>>,
        sequence: i32,
        detail: Option<Said>,
        settled_at: Option<At>,
        queued_at: At,
        linked: Option<bool>,
    }
);

impl OutboxColumns {
    /// The message and its state.
    pub(crate) fn into_both(self) -> RowsResult<(OutboxRow, DeliveryState)> {
        let state = Code::from_code(self.state)?;
        Ok((self.into_row()?, state))
    }

    pub(crate) fn into_row(self) -> RowsResult<OutboxRow> {
        Ok(OutboxRow {
            rid: self.rid,
            id: DeliveryId(self.id.0),
            suspension: self.suspension,
            attempt: unsigned(self.attempt)?,
            channel: self.channel,
            recipient: self.recipient,
            tries: unsigned(self.tries)?,
            due_at: self.due_at.0,
            lease: self.lease,
            sequence: unsigned(self.sequence)?,
            detail: self.detail.map(|detail| detail.0),
            settled_at: self.settled_at.map(|at| at.0),
            queued_at: self.queued_at.0,
            linked: self.linked,
        })
    }
}

columns!(
    BounceColumns of bounces {
        hard: bool,
        reported_at: At,
        detail: Option<Said>,
    }
);

impl BounceColumns {
    pub(crate) fn into_row(self) -> BounceRow {
        let kind = if self.hard { BounceKind::Hard } else { BounceKind::Soft };
        BounceRow { kind, reported_at: self.reported_at.0, detail: self.detail.map(|detail| detail.0) }
    }
}

columns!(
    TokenColumns of tokens {
        rid: i64,
        hash: Vec<u8>,
        suspension: i64,
        recipient: String,
        created_at: At,
        delivery: Option<Key>,
    }
);

impl TokenColumns {
    pub(crate) fn into_row(self) -> TokenRow {
        TokenRow {
            rid: self.rid,
            hash: self.hash,
            suspension: self.suspension,
            recipient: self.recipient,
            created_at: self.created_at.0,
            delivery: self.delivery.map(|id| DeliveryId(id.0)),
        }
    }
}

columns!(
    PresenceColumns of presence {
        beat_at: At,
        held_since: Option<At>,
        released: bool,
        tokens_void_to: i64,
        absent_from: Option<At>,
        absent_until: Option<At>,
        restored: bool,
        done_to: i64,
        up_to: i64,
    }
);

impl PresenceColumns {
    pub(crate) fn into_row(self) -> PresenceRow {
        let Self { restored, done_to, up_to, .. } = self;
        let recovery = |(from, until): (At, At)| Recovery { from: from.0, until: until.0, restored, done_to, up_to };
        PresenceRow {
            beat_at: self.beat_at.0,
            restore: Restore::of(self.held_since.map(|at| at.0), self.released),
            tokens_void_to: self.tokens_void_to,
            recovery: self.absent_from.zip(self.absent_until).map(recovery),
        }
    }
}

columns!(
    LeaseColumns of leases {
        id: Key,
        agent_id: String,
        scope: Said,
        status: i32,
        acquired_at: At,
        expires_at: At,
        released_at: Option<At>,
        duration_seconds: i32,
    }
);

impl LeaseColumns {
    pub(crate) fn into_lease(self, intent_id: IntentId) -> RowsResult<Lease> {
        Ok(Lease {
            id: LeaseId(self.id.0),
            intent_id,
            agent_id: self.agent_id,
            scope: self.scope.0,
            status: Code::from_code(self.status)?,
            acquired_at: self.acquired_at.0,
            created_at: self.acquired_at.0,
            expires_at: self.expires_at.0,
            released_at: self.released_at.map(|at| at.0),
            duration_seconds: unsigned(self.duration_seconds)?,
        })
    }
}

columns!(
    KeyColumns of api_keys {
        id: Key,
        name: String,
        role: i32,
        subject: String,
        owner: Owned,
        created_at: At,
        revoked_at: Option<At>,
        tied_to: Option<String>,
        client: Option<String>,
    }
);

/// A client by the name under which it is stored.
fn client(name: Option<&str>) -> RowsResult<Option<Client>> {
    name.map(str::parse).transpose().map_err(|_| RowsError::Inconsistent("a key of a client that this program does not know"))
}

impl KeyColumns {
    pub(crate) fn into_view(self) -> RowsResult<KeyView> {
        Ok(KeyView {
            id: KeyId(self.id.0),
            name: self.name,
            role: Code::from_code(self.role)?,
            subject: self.subject,
            owner: self.owner.0,
            tied_to: self.tied_to.as_deref().map(names),
            client: client(self.client.as_deref())?,
            created_at: self.created_at.0,
            revoked_at: self.revoked_at.map(|at| at.0),
        })
    }

    pub(crate) fn into_principal(self) -> RowsResult<Principal> {
        Ok(Principal {
            credential: Some(Credential::ApiKey(KeyId(self.id.0))),
            name: self.name,
            subject: self.subject,
            owner: self.owner.0,
            role: Code::from_code(self.role)?,
            tied_to: self.tied_to.as_deref().map(names),
            client: client(self.client.as_deref())?,
            assurance: Assurance::ApiKey,
        })
    }
}

columns!(
    PortfolioColumns of portfolios {
        rid: i64,
        id: Key,
        status: i32,
        creator: String,
        creator_owner: Owned,
        claimed_creator: Option<Said>,
        name: Said,
        description: Option<Said>,
        metadata: Json<serde_json::Map<String, Value>>,
        governance_policy: Json<PortfolioPolicy>,
        created_at: At,
        updated_at: At,
        last_sequence: i64,
        last_hash: Vec<u8>,
    }
);

impl PortfolioColumns {
    pub(crate) fn into_row(self) -> RowsResult<PortfolioRow> {
        let portfolio = Portfolio {
            id: PortfolioId(self.id.0),
            status: Code::from_code(self.status)?,
            created_by: Asker { name: self.creator, owner: self.creator_owner.0 },
            created_at: self.created_at.0,
            updated_at: self.updated_at.0,
            body: PortfolioBody {
                name: self.name.0,
                description: self.description.map(|text| text.0),
                metadata: self.metadata.0,
                policy: self.governance_policy.0,
                claimed_created_by: self.claimed_creator.map(|name| name.0),
            },
        };
        let last_sequence = u64::try_from(self.last_sequence).map_err(|_| RowsError::Inconsistent("a negative sequence"))?;
        Ok(PortfolioRow { rid: self.rid, portfolio, last_sequence, last_hash: last_hash(&self.last_hash)? })
    }
}

columns!(
    MemberColumns of portfolio_members {
        intent: i64,
        id: Key,
        role: i32,
        priority: i32,
        added_at: At,
    }
);

impl MemberColumns {
    pub(crate) fn into_row(self) -> RowsResult<MemberRow> {
        let Self { intent, id, role, priority, added_at } = self;
        let membership = Membership { id: MembershipId(id.0), role: Code::from_code(role)?, priority, added_at: added_at.0 };
        Ok(MemberRow { intent, membership })
    }
}

/// An event's bytes and hash, in whichever log it stands.
pub(crate) type SealedColumns = (Vec<u8>, Vec<u8>);

pub(crate) fn sealed_of((bytes, hash): SealedColumns) -> RowsResult<Sealed> {
    let hash = hash.try_into().map_err(|_| RowsError::Inconsistent("a hash of the wrong length"))?;
    Ok(Sealed { bytes, hash: Hash(hash) })
}
