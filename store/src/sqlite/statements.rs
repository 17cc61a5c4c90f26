//! The few hot statements, each with a fixed text.
//!
//! Diesel prepares `sql_query` and every DSL `UPDATE` anew on each execution; a fragment with a static id is prepared once per
//! connection. The contract of a static id is that the text never depends on the values: the macro gives no way to make it.
//!
//! SQLite itself prepares a statement anew whenever another value is bound to its `LIMIT`: the value may change its plan. Diesel's
//! `first` is such a `LIMIT ?`, so one row is read with `get_result`, and a hot limit is written as a sum, which SQLite does not look into.

use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Bool, Double, Integer, Nullable, Text};
use diesel::sqlite::Sqlite;
use diesel::{QueryResult, RunQueryDsl, SqliteConnection};

use super::schema;

macro_rules! statement {
    ($(#[$doc:meta])* $name:ident { $($text:literal $field:ident: $rust:ty = $sql:ty),* $(,)? } $tail:literal $(-> $row:ty)?) => {
        $(#[$doc])*
        pub(super) struct $name<'a> {
            $(pub(super) $field: &'a $rust),*
        }

        impl QueryId for $name<'_> {
            type QueryId = $name<'static>;
            const HAS_STATIC_QUERY_ID: bool = true;
        }

        impl QueryFragment<Sqlite> for $name<'_> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
                $(
                    out.push_sql($text);
                    out.push_bind_param::<$sql, $rust>(self.$field)?;
                )*
                out.push_sql($tail);
                Ok(())
            }
        }

        impl RunQueryDsl<SqliteConnection> for $name<'_> {}

        $(impl Query for $name<'_> {
            type SqlType = $row;
        })?
    };
}

statement!(
    SelectIntent {
        "SELECT rid, id, status, version, creator, creator_owner, created_at, updated_at, open_suspension, newest_suspension, \
         has_leases, last_event, last_sequence, last_hash FROM intents WHERE id = " id: [u8] = Binary,
    } "" -> schema::intents::SqlType
);

statement!(
    SelectIntentAt {
        "SELECT rid, id, status, version, creator, creator_owner, created_at, updated_at, open_suspension, newest_suspension, \
         has_leases, last_event, last_sequence, last_hash FROM intents WHERE rid = " rid: i64 = BigInt,
    } "" -> schema::intents::SqlType
);

statement!(
    SelectIntentId {
        "SELECT id FROM intents WHERE rid = " rid: i64 = BigInt,
    } "" -> Binary
);

statement!(
    SelectSuspension {
        "SELECT rid, id, intent, event, kind, version, attempt, response_type, choices, suspended_at, expires_at, fallback_policy, \
         fallback_value, reached, requires_delivery, refusals, asker, asker_owner, resolution, resolution_reason, resolved_at, \
         response, resolved_by, metadata, reminded_at FROM suspensions WHERE id = " id: [u8] = Binary,
    } "" -> schema::suspensions::SqlType
);

statement!(
    SelectSuspensionAt {
        "SELECT rid, id, intent, event, kind, version, attempt, response_type, choices, suspended_at, expires_at, fallback_policy, \
         fallback_value, reached, requires_delivery, refusals, asker, asker_owner, resolution, resolution_reason, resolved_at, \
         response, resolved_by, metadata, reminded_at FROM suspensions WHERE rid = " rid: i64 = BigInt,
    } "" -> schema::suspensions::SqlType
);

statement!(
    InsertIntent {
        "INSERT INTO intents (rid, id, status, version, creator, creator_owner, created_at, updated_at, has_leases, last_event, \
         last_sequence, last_hash) VALUES (" rid: i64 = BigInt,
        ", " id: [u8] = Binary,
        ", " status: i32 = Integer,
        ", " version: i32 = Integer,
        ", " creator: str = Text,
        ", " creator_owner: str = Text,
        ", " created_at: i64 = BigInt,
        ", " updated_at: i64 = BigInt,
    } ", 0, 0, 0, x'')"
);

statement!(
    InsertBody {
        "INSERT INTO intent_bodies (rid, title, description, created_by, parent, depends_on, constraints, state, governance_policy, \
         confidence) VALUES (" rid: i64 = BigInt,
        ", " title: str = Text,
        ", " description: str = Text,
        ", " created_by: str = Text,
        ", " parent: Option<Vec<u8>> = Nullable<Binary>,
        ", " depends_on: str = Text,
        ", " constraints: str = Text,
        ", " state: str = Text,
        ", " governance_policy: Option<String> = Nullable<Text>,
        ", " confidence: f64 = Double,
    } ")"
);

statement!(
    UpdateIntent {
        "UPDATE intents SET status = " status: i32 = Integer,
        ", version = " version: i32 = Integer,
        ", updated_at = " updated_at: i64 = BigInt,
        ", open_suspension = " open_suspension: Option<i64> = Nullable<BigInt>,
        ", newest_suspension = " newest_suspension: Option<i64> = Nullable<BigInt>,
        ", has_leases = " has_leases: bool = Bool,
        ", last_event = " last_event: i64 = BigInt,
        ", last_sequence = " last_sequence: i64 = BigInt,
        ", last_hash = " last_hash: [u8] = Binary,
        " WHERE rid = " rid: i64 = BigInt,
    } ""
);

statement!(
    InsertEvent {
        "INSERT INTO events (rid, intent, previous, event_type, created_at, bytes, hash) VALUES (" rid: i64 = BigInt,
        ", " intent: i64 = BigInt,
        ", " previous: Option<i64> = Nullable<BigInt>,
        ", " event_type: str = Text,
        ", " created_at: i64 = BigInt,
        ", " bytes: [u8] = Binary,
        ", " hash: [u8] = Binary,
    } ")"
);

statement!(
    InsertSuspension {
        "INSERT INTO suspensions (rid, id, intent, event, kind, version, attempt, response_type, choices, suspended_at, expires_at, \
         fallback_policy, fallback_value, reached, requires_delivery, refusals, asker, asker_owner) VALUES (" rid: i64 = BigInt,
        ", " id: [u8] = Binary,
        ", " intent: i64 = BigInt,
        ", " event: i64 = BigInt,
        ", " kind: i32 = Integer,
        ", " version: i32 = Integer,
        ", " attempt: i32 = Integer,
        ", " response_type: i32 = Integer,
        ", " choices: str = Text,
        ", " suspended_at: i64 = BigInt,
        ", " expires_at: Option<i64> = Nullable<BigInt>,
        ", " fallback_policy: i32 = Integer,
        ", " fallback_value: Option<String> = Nullable<Text>,
        ", " reached: bool = Bool,
        ", " requires_delivery: bool = Bool,
        ", 0, " asker: str = Text,
        ", " asker_owner: str = Text,
    } ")"
);

statement!(
    /// The one statement that ends a suspension: it changes a row only if none ended it before.
    EndSuspension {
        "UPDATE suspensions SET resolution = " resolution: i32 = Integer,
        ", resolution_reason = " resolution_reason: Option<i32> = Nullable<Integer>,
        ", resolved_at = " resolved_at: i64 = BigInt,
        ", response = " response: Option<String> = Nullable<Text>,
        ", resolved_by = " resolved_by: Option<String> = Nullable<Text>,
        ", metadata = " metadata: Option<String> = Nullable<Text>,
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
        "INSERT INTO timers (due_at, suspension, kind, attempt) VALUES (" due_at: i64 = BigInt,
        ", " suspension: i64 = BigInt,
        ", " kind: i32 = Integer,
        ", " attempt: i32 = Integer,
    } ")"
);

statement!(
    InsertOutbox {
        "INSERT INTO outbox (rid, id, suspension, attempt, channel, recipient, state, tries, due_at, sequence, queued_at) VALUES (" rid: i64 = BigInt,
        ", " id: [u8] = Binary,
        ", " suspension: i64 = BigInt,
        ", " attempt: i32 = Integer,
        ", " channel: str = Text,
        ", " recipient: str = Text,
        ", 0, 0, " due_at: i64 = BigInt,
        ", " sequence: i32 = Integer,
        ", " queued_at: i64 = BigInt,
    } ")"
);

statement!(
    /// The next channel that has a queue, and what is due first in it: one step in the index, which reads nothing else of the queue.
    SelectNextQueue {
        "SELECT channel, due_at FROM outbox WHERE state = 0 AND channel > " after: str = Text,
    } " ORDER BY channel, due_at LIMIT 1" -> (Text, BigInt)
);

statement!(
    /// The state is written out, so that the partial index of what is queued serves it.
    SelectDueOutbox {
        "SELECT rid, id, suspension, attempt, channel, recipient, state, due_at, tries, lease, sequence, detail, settled_at, \
         queued_at, linked FROM outbox WHERE state = 0 AND channel = " channel: str = Text,
        " AND due_at <= " due_at: i64 = BigInt,
        " ORDER BY due_at LIMIT 0 + " limit: i64 = BigInt,
    } "" -> schema::outbox::SqlType
);

statement!(
    /// When the first one behind so many that are due was, if there are more.
    SelectMoreDue {
        "SELECT due_at FROM outbox WHERE state = 0 AND channel = " channel: str = Text,
        " AND due_at <= " due_at: i64 = BigInt,
        " ORDER BY due_at LIMIT 1 OFFSET " keep: i64 = BigInt,
    } "" -> BigInt
);

statement!(
    SelectOutboxOf {
        "SELECT rid, id, suspension, attempt, channel, recipient, state, due_at, tries, lease, sequence, detail, settled_at, \
         queued_at, linked FROM outbox WHERE suspension = " suspension: i64 = BigInt,
    } " ORDER BY rid" -> schema::outbox::SqlType
);

statement!(
    LeaseOutbox {
        "UPDATE outbox SET lease = " lease: [u8] = Binary,
        ", due_at = " due_at: i64 = BigInt,
        ", tries = " tries: i32 = Integer,
        ", linked = " linked: bool = Bool,
        " WHERE rid = " rid: i64 = BigInt,
    } ""
);

statement!(
    FinishOutbox {
        "UPDATE outbox SET lease = NULL, state = " state: i32 = Integer,
        ", settled_at = " settled_at: i64 = BigInt,
        ", detail = coalesce(" detail: Option<String> = Nullable<Text>,
        ", detail) WHERE rid = " rid: i64 = BigInt,
    } ""
);

statement!(
    InsertToken {
        "INSERT INTO tokens (rid, hash, suspension, recipient, created_at, delivery) VALUES (" rid: i64 = BigInt,
        ", " hash: [u8] = Binary,
        ", " suspension: i64 = BigInt,
        ", " recipient: str = Text,
        ", " created_at: i64 = BigInt,
        ", " delivery: Option<Vec<u8>> = Nullable<Binary>,
    } ")"
);

statement!(
    AddAgentBytes {
        "INSERT INTO agent_bytes (agent, day, part, bytes) VALUES (" agent: str = Text,
        ", " day: i32 = Integer,
        ", 0, " bytes: i64 = BigInt,
    } ") ON CONFLICT (day, agent, part) DO UPDATE SET bytes = bytes + excluded.bytes"
);

statement!(
    SelectAgentBytes {
        "SELECT coalesce(sum(bytes), 0) FROM agent_bytes WHERE agent = " agent: str = Text,
        " AND day = " day: i32 = Integer,
    } "" -> BigInt
);

statement!(
    InsertSuspensionKey {
        "INSERT INTO suspension_keys (key_hash, body_hash, suspension) VALUES (" key_hash: [u8] = Binary,
        ", " body_hash: [u8] = Binary,
        ", " suspension: i64 = BigInt,
    } ")"
);

statement!(
    /// A record older than 24 hours may still stand under this day and key: the new one takes its place.
    InsertIdempotent {
        "INSERT OR REPLACE INTO idempotency (day, key_hash, body_hash, outcome, created_at) VALUES (" day: i32 = Integer,
        ", " key_hash: [u8] = Binary,
        ", " body_hash: [u8] = Binary,
        ", " outcome: str = Text,
        ", " created_at: i64 = BigInt,
    } ")"
);
