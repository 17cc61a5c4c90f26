//! The few hot statements, each with a fixed text, prepared once per connection.
//!
//! They own their values, so that one whose result nobody asks for can wait and be sent together with others.
//!
//! The contract of a static id is that the text never depends on the values: the macro gives no way to make it.

use chrono::{DateTime, Utc};
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Binary, Bool, Double, Integer, Json, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryResult, RunQueryDsl};
use serde_json::Value;
use uuid::Uuid;

use super::connection::Connection;
use super::schema;

type Time = DateTime<Utc>;

macro_rules! statement {
    ($(#[$doc:meta])* $name:ident { $($text:literal $field:ident: $rust:ty = $sql:ty),* $(,)? } $tail:literal $(-> $row:ty)?) => {
        $(#[$doc])*
        pub(super) struct $name {
            $(pub(super) $field: $rust),*
        }

        impl QueryId for $name {
            type QueryId = Self;
            const HAS_STATIC_QUERY_ID: bool = true;
        }

        impl QueryFragment<Pg> for $name {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
                $(
                    out.push_sql($text);
                    out.push_bind_param::<$sql, $rust>(&self.$field)?;
                )*
                out.push_sql($tail);
                Ok(())
            }
        }

        impl RunQueryDsl<Connection> for $name {}

        $(impl Query for $name {
            type SqlType = $row;
        })?
    };
}

/// The database's time and the number of the transaction, as its first statement reads them.
pub(super) struct Begin;

impl QueryId for Begin {
    type QueryId = Self;
    const HAS_STATIC_QUERY_ID: bool = true;
}

impl QueryFragment<Pg> for Begin {
    fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
        out.push_sql("SELECT clock_timestamp(), pg_current_xact_id()::text");
        Ok(())
    }
}

impl RunQueryDsl<Connection> for Begin {}

impl Query for Begin {
    type SqlType = (Timestamptz, Text);
}

statement!(
    SelectIntent {
        "SELECT rid, id, status, version, creator, creator_owner, created_at, updated_at, open_suspension, newest_suspension, \
         has_leases, last_event, last_sequence, last_hash FROM intents WHERE id = " id: Uuid = SqlUuid,
    } "" -> schema::intents::SqlType
);

statement!(
    SelectIntentAt {
        "SELECT rid, id, status, version, creator, creator_owner, created_at, updated_at, open_suspension, newest_suspension, \
         has_leases, last_event, last_sequence, last_hash FROM intents WHERE rid = " rid: i64 = BigInt,
    } "" -> schema::intents::SqlType
);

statement!(
    /// Waits for the row, then reads the time: in one SELECT the time would be read before the wait.
    LockIntent {
        "WITH locked AS MATERIALIZED (SELECT rid, id, status, version, creator, creator_owner, created_at, updated_at, \
         open_suspension, newest_suspension, has_leases, last_event, last_sequence, last_hash FROM intents WHERE id = "
        id: Uuid = SqlUuid,
    } " FOR NO KEY UPDATE) SELECT rid, id, status, version, creator, creator_owner, created_at, updated_at, open_suspension, \
       newest_suspension, has_leases, last_event, last_sequence, last_hash, clock_timestamp() FROM locked"
    -> (schema::intents::SqlType, Timestamptz)
);

statement!(
    /// As [`LockIntent`], by its row.
    LockIntentAt {
        "WITH locked AS MATERIALIZED (SELECT rid, id, status, version, creator, creator_owner, created_at, updated_at, \
         open_suspension, newest_suspension, has_leases, last_event, last_sequence, last_hash FROM intents WHERE rid = "
        rid: i64 = BigInt,
    } " FOR NO KEY UPDATE) SELECT rid, id, status, version, creator, creator_owner, created_at, updated_at, open_suspension, \
       newest_suspension, has_leases, last_event, last_sequence, last_hash, clock_timestamp() FROM locked"
    -> (schema::intents::SqlType, Timestamptz)
);

statement!(
    /// Locks those of some intents that nobody else holds. The row of each is looked for by itself: as one set, a plan made while the
    /// tables were small would read them whole when they have grown.
    LockIntents {
        "SELECT locked.* FROM unnest(" ids: Vec<Uuid> = Array<SqlUuid>,
    } ") AS asked (id) CROSS JOIN LATERAL (SELECT rid, id, status, version, creator, creator_owner, created_at, updated_at, \
       open_suspension, newest_suspension, has_leases, last_event, last_sequence, last_hash FROM intents \
       WHERE intents.id = asked.id FOR NO KEY UPDATE SKIP LOCKED) AS locked" -> schema::intents::SqlType
);

statement!(
    /// The open suspensions of some intents.
    SelectOpen {
        "SELECT open.* FROM unnest(" ids: Vec<Uuid> = Array<SqlUuid>,
    } ") AS asked (id) CROSS JOIN LATERAL (SELECT s.rid, s.id, s.intent, s.event, s.kind, s.version, s.attempt, s.response_type, \
       s.choices, s.suspended_at, s.expires_at, s.fallback_policy, s.fallback_value, s.reached, s.requires_delivery, s.refusals, \
       s.asker, s.asker_owner, s.resolution, s.resolution_reason, s.resolved_at, s.response, s.resolved_by, s.metadata, \
       s.reminded_at, i.id AS intent_id FROM intents i JOIN suspensions s ON s.rid = i.open_suspension WHERE i.id = asked.id \
       OFFSET 0) AS open" -> (schema::suspensions::SqlType, SqlUuid)
);

statement!(
    /// Takes what is queued about the open suspensions of some intents and what nobody has under way; of those intents alone that are
    /// locked here, or whoever holds one could not take them. Not `= 0`: the index of all that is queued would seem to serve that as
    /// well, however long it is.
    LockMessages {
        "SELECT taken.rid FROM unnest(" ids: Vec<Uuid> = Array<SqlUuid>,
    } ") AS asked (id) CROSS JOIN LATERAL (SELECT o.rid FROM intents i JOIN outbox o ON o.suspension = i.open_suspension \
       WHERE i.id = asked.id AND o.state < 1 AND o.lease IS NULL FOR NO KEY UPDATE OF i, o SKIP LOCKED) AS taken" -> BigInt
);

statement!(
    /// The messages about the open suspensions of some intents.
    SelectMessages {
        "SELECT about.* FROM unnest(" ids: Vec<Uuid> = Array<SqlUuid>,
    } ") AS asked (id) CROSS JOIN LATERAL (SELECT o.rid, o.id, o.suspension, o.attempt, o.channel, o.recipient, o.state, o.due_at, \
       o.tries, o.lease, o.leased_by, o.sequence, o.detail, o.settled_at, o.queued_at, o.linked FROM intents i \
       JOIN outbox o ON o.suspension = i.open_suspension WHERE i.id = asked.id OFFSET 0) AS about" -> schema::outbox::SqlType
);

statement!(
    /// What is kept for some keys on some days.
    SelectOutcomes {
        "SELECT kept.* FROM unnest(" keys: Vec<Vec<u8>> = Array<Binary>,
        ") AS asked (key_hash) CROSS JOIN LATERAL (SELECT day, key_hash, body_hash, outcome, created_at FROM idempotency \
         WHERE idempotency.key_hash = asked.key_hash AND day = ANY(" days: Vec<i32> = Array<Integer>,
    } ") OFFSET 0) AS kept" -> schema::idempotency::SqlType
);

statement!(
    SelectSuspension {
        "SELECT s.rid, s.id, s.intent, s.event, s.kind, s.version, s.attempt, s.response_type, s.choices, s.suspended_at, \
         s.expires_at, s.fallback_policy, s.fallback_value, s.reached, s.requires_delivery, s.refusals, s.asker, s.asker_owner, \
         s.resolution, s.resolution_reason, s.resolved_at, s.response, s.resolved_by, s.metadata, s.reminded_at, i.id \
         FROM suspensions s JOIN intents i ON i.rid = s.intent WHERE s.id = " id: Uuid = SqlUuid,
    } "" -> (schema::suspensions::SqlType, SqlUuid)
);

statement!(
    SelectSuspensionAt {
        "SELECT s.rid, s.id, s.intent, s.event, s.kind, s.version, s.attempt, s.response_type, s.choices, s.suspended_at, \
         s.expires_at, s.fallback_policy, s.fallback_value, s.reached, s.requires_delivery, s.refusals, s.asker, s.asker_owner, \
         s.resolution, s.resolution_reason, s.resolved_at, s.response, s.resolved_by, s.metadata, s.reminded_at, i.id \
         FROM suspensions s JOIN intents i ON i.rid = s.intent WHERE s.rid = " rid: i64 = BigInt,
    } "" -> (schema::suspensions::SqlType, SqlUuid)
);

statement!(
    InsertIntent {
        "INSERT INTO intents (rid, id, status, version, creator, creator_owner, created_at, updated_at, has_leases, last_event, \
         last_sequence, last_hash) VALUES (" rid: i64 = BigInt,
        ", " id: Uuid = SqlUuid,
        ", " status: i32 = Integer,
        ", " version: i32 = Integer,
        ", " creator: String = Text,
        ", " creator_owner: String = Text,
        ", " created_at: Time = Timestamptz,
        ", " updated_at: Time = Timestamptz,
    } ", false, 0, 0, '')"
);

statement!(
    InsertBody {
        "INSERT INTO intent_bodies (rid, title, description, created_by, parent, depends_on, constraints, state, governance_policy, \
         confidence) VALUES (" rid: i64 = BigInt,
        ", " title: Value = Json,
        ", " description: Value = Json,
        ", " created_by: Value = Json,
        ", " parent: Option<Uuid> = Nullable<SqlUuid>,
        ", " depends_on: Value = Json,
        ", " constraints: Value = Json,
        ", " state: Value = Json,
        ", " governance_policy: Option<Value> = Nullable<Json>,
        ", " confidence: f64 = Double,
    } ")"
);

statement!(
    UpdateIntent {
        "UPDATE intents SET status = " status: i32 = Integer,
        ", version = " version: i32 = Integer,
        ", updated_at = " updated_at: Time = Timestamptz,
        ", open_suspension = " open_suspension: Option<i64> = Nullable<BigInt>,
        ", newest_suspension = " newest_suspension: Option<i64> = Nullable<BigInt>,
        ", has_leases = " has_leases: bool = Bool,
        ", last_event = " last_event: i64 = BigInt,
        ", last_sequence = " last_sequence: i64 = BigInt,
        ", last_hash = " last_hash: Vec<u8> = Binary,
        " WHERE rid = " rid: i64 = BigInt,
    } ""
);

statement!(
    InsertEvent {
        "INSERT INTO events (rid, intent, previous, event_type, created_at, bytes, hash) VALUES (" rid: i64 = BigInt,
        ", " intent: i64 = BigInt,
        ", " previous: Option<i64> = Nullable<BigInt>,
        ", " event_type: String = Text,
        ", " created_at: Time = Timestamptz,
        ", " bytes: Vec<u8> = Binary,
        ", " hash: Vec<u8> = Binary,
    } ")"
);

statement!(
    InsertSuspension {
        "INSERT INTO suspensions (rid, id, intent, event, kind, version, attempt, response_type, choices, suspended_at, expires_at, \
         fallback_policy, fallback_value, reached, requires_delivery, refusals, asker, asker_owner) VALUES (" rid: i64 = BigInt,
        ", " id: Uuid = SqlUuid,
        ", " intent: i64 = BigInt,
        ", " event: i64 = BigInt,
        ", " kind: i32 = Integer,
        ", " version: i32 = Integer,
        ", " attempt: i32 = Integer,
        ", " response_type: i32 = Integer,
        ", " choices: Value = Json,
        ", " suspended_at: Time = Timestamptz,
        ", " expires_at: Option<Time> = Nullable<Timestamptz>,
        ", " fallback_policy: i32 = Integer,
        ", " fallback_value: Option<Value> = Nullable<Json>,
        ", " reached: bool = Bool,
        ", " requires_delivery: bool = Bool,
        ", 0, " asker: String = Text,
        ", " asker_owner: String = Text,
    } ")"
);

statement!(
    /// The one statement that ends a suspension: it changes a row only if none ended it before.
    EndSuspension {
        "UPDATE suspensions SET resolution = " resolution: i32 = Integer,
        ", resolution_reason = " resolution_reason: Option<i32> = Nullable<Integer>,
        ", resolved_at = " resolved_at: Time = Timestamptz,
        ", response = " response: Option<Value> = Nullable<Json>,
        ", resolved_by = " resolved_by: Option<String> = Nullable<Text>,
        ", metadata = " metadata: Option<Value> = Nullable<Json>,
        ", version = " version: i32 = Integer,
        " WHERE rid = " rid: i64 = BigInt,
    } " AND resolution IS NULL"
);

statement!(
    TouchSuspension {
        "UPDATE suspensions SET version = " version: i32 = Integer,
        ", attempt = " attempt: i32 = Integer,
        ", reached = " reached: bool = Bool,
        ", refusals = " refusals: i32 = Integer,
        " WHERE rid = " rid: i64 = BigInt,
    } ""
);

statement!(
    InsertTimer {
        "INSERT INTO timers (due_at, suspension, kind, attempt) VALUES (" due_at: Time = Timestamptz,
        ", " suspension: i64 = BigInt,
        ", " kind: i32 = Integer,
        ", " attempt: i32 = Integer,
    } ")"
);

statement!(
    InsertOutbox {
        "INSERT INTO outbox (rid, id, suspension, attempt, channel, recipient, state, tries, due_at, sequence, queued_at) VALUES (" rid: i64 = BigInt,
        ", " id: Uuid = SqlUuid,
        ", " suspension: i64 = BigInt,
        ", " attempt: i32 = Integer,
        ", " channel: String = Text,
        ", " recipient: String = Text,
        ", 0, 0, " due_at: Time = Timestamptz,
        ", " sequence: i32 = Integer,
        ", " queued_at: Time = Timestamptz,
    } ")"
);

statement!(
    /// The channels that have a queue, each found by one step in the index: what lies in a queue is not read.
    SelectQueuedChannels {
        "WITH RECURSIVE queued (channel) AS (SELECT min(channel) FROM outbox WHERE state = 0 UNION ALL SELECT (SELECT min(channel) \
         FROM outbox WHERE state = 0 AND channel > queued.channel) FROM queued WHERE queued.channel IS NOT NULL) SELECT channel, \
         (SELECT min(due_at) FROM outbox WHERE state = 0 AND outbox.channel = queued.channel) FROM queued \
         WHERE channel IS NOT NULL LIMIT " limit: i64 = BigInt,
    } "" -> (Text, Timestamptz)
);

statement!(
    LeaseOutbox {
        "UPDATE outbox SET lease = " lease: Vec<u8> = Binary,
        ", leased_by = " leased_by: i32 = Integer,
        ", due_at = " due_at: Time = Timestamptz,
        ", tries = " tries: i32 = Integer,
        ", linked = " linked: bool = Bool,
        " WHERE rid = " rid: i64 = BigInt,
    } ""
);

statement!(
    FinishOutbox {
        "UPDATE outbox SET lease = NULL, leased_by = NULL, state = " state: i32 = Integer,
        ", settled_at = " settled_at: Time = Timestamptz,
        ", detail = coalesce(" detail: Option<Value> = Nullable<Json>,
        ", detail) WHERE rid = " rid: i64 = BigInt,
    } ""
);

statement!(
    InsertToken {
        "INSERT INTO tokens (rid, hash, suspension, recipient, created_at, delivery) VALUES (" rid: i64 = BigInt,
        ", " hash: Vec<u8> = Binary,
        ", " suspension: i64 = BigInt,
        ", " recipient: String = Text,
        ", " created_at: Time = Timestamptz,
        ", " delivery: Option<Uuid> = Nullable<SqlUuid>,
    } ")"
);

statement!(
    /// A connection adds to a row of its own: two servers that write for one agent at the same time wait for nobody.
    AddAgentBytes {
        "INSERT INTO agent_bytes (agent, day, part, bytes) VALUES (" agent: String = Text,
        ", " day: i32 = Integer,
        ", pg_backend_pid(), " bytes: i64 = BigInt,
    } ") ON CONFLICT (day, agent, part) DO UPDATE SET bytes = agent_bytes.bytes + excluded.bytes"
);

statement!(
    SelectAgentBytes {
        "SELECT coalesce(sum(bytes), 0)::bigint FROM agent_bytes WHERE agent = " agent: String = Text,
        " AND day = " day: i32 = Integer,
    } "" -> BigInt
);

statement!(
    InsertSuspensionKey {
        "INSERT INTO suspension_keys (key_hash, body_hash, suspension) VALUES (" key_hash: Vec<u8> = Binary,
        ", " body_hash: Vec<u8> = Binary,
        ", " suspension: i64 = BigInt,
    } ")"
);

statement!(
    /// A record that counts no more may still stand under this day and key: the new one takes its place. One that counts stays, and
    /// the statement changes nothing: another transaction was first.
    InsertIdempotent {
        "INSERT INTO idempotency AS kept (day, key_hash, body_hash, outcome, created_at) VALUES (" day: i32 = Integer,
        ", " key_hash: Vec<u8> = Binary,
        ", " body_hash: Vec<u8> = Binary,
        ", " outcome: String = Text,
        ", " created_at: Time = Timestamptz,
        ") ON CONFLICT (day, key_hash) DO UPDATE SET body_hash = excluded.body_hash, outcome = excluded.outcome, \
         created_at = excluded.created_at WHERE kept.created_at <= " counting_since: Time = Timestamptz,
    } ""
);

statement!(
    /// Waits for whoever uses a key, and keeps it so until the transaction ends: "plak", beside the locks of servers.
    LockKey {
        "SELECT pg_advisory_xact_lock(1886151019, " hash: i32 = Integer,
    } ")"
);

statement!(
    /// As [`LockKey`], for those of some keys that nobody else uses; waits for nobody.
    LockKeys {
        "SELECT hash FROM unnest(" hashes: Vec<i32> = Array<Integer>,
    } ") AS asked (hash) WHERE pg_try_advisory_xact_lock(1886151019, hash)" -> Integer
);

statement!(
    /// Keeps others from deciding about the messages of one agent to one person; waits for nobody. Beside the locks of keys.
    TakePair {
        "SELECT pg_try_advisory_xact_lock(1886151020, " pair: i32 = Integer,
    } ")" -> Bool
);

statement!(
    ForgetIdempotent {
        "DELETE FROM idempotency WHERE (day, key_hash) IN (SELECT day, key_hash FROM idempotency WHERE day < " day: i32 = Integer,
        " LIMIT " limit: i64 = BigInt,
    } " FOR UPDATE SKIP LOCKED)"
);

statement!(
    /// Makes messages due that a server leased which lives no more: nobody holds the advisory lock under its number.
    ReleaseOutbox {
        "UPDATE outbox SET lease = NULL, leased_by = NULL, due_at = " due_at: Time = Timestamptz,
    } " WHERE state = 0 AND lease IS NOT NULL AND NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted \
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
       AND classid = 1886151011 AND objid = outbox.leased_by::bigint::oid)"
);

statement!(
    /// Whether nobody but this server holds such a lock.
    SelectAlone {
        "SELECT NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted \
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
         AND classid = 1886151011 AND objid <> " server: i32 = Integer,
    } "::bigint::oid)" -> Bool
);

statement!(
    NextRid {
        "SELECT nextval(" sequence: String = Text,
    } "::regclass)" -> BigInt
);
