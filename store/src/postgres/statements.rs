//! The few hot statements, each with a fixed text, prepared once per connection.
//!
//! The statements own their values, so that a write whose result is not needed can wait and be sent together with others.
//!
//! A statement with a static query id must have the same text whatever its values are. The macro ensures that, because it can put
//! values into a statement only as parameters.

use diesel::dsl::SqlTypeOf;
use diesel::pg::Pg;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{Array, BigInt, Binary, Bool, Integer, Nullable, Text, Timestamptz, Uuid as SqlUuid};
use diesel::{QueryResult, RunQueryDsl};
use uuid::Uuid;

use super::connection::Connection;
use crate::columns::{
    Columns, IntentColumns, OutboxColumns, SuspensionColumns, intent_columns, outbox_columns, suspension_columns,
};
use crate::schema;
use crate::sql::{At, Document, Id, Key, Moment, Owned, Prose, Said, Written};

/// One text, or several in parentheses, which are joined. In this way the lists of columns become parts of their statements.
macro_rules! text {
    ($text:literal) => {
        $text
    };
    (($($piece:expr),* $(,)?)) => {
        concat!($($piece),*)
    };
}

macro_rules! statement {
    ($(#[$doc:meta])* $name:ident { $($text:tt $field:ident: $rust:ty = $sql:ty),* $(,)? } $tail:tt $(-> $row:ty)?) => {
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
                    out.push_sql(text!($text));
                    out.push_bind_param::<$sql, $rust>(&self.$field)?;
                )*
                out.push_sql(text!($tail));
                Ok(())
            }
        }

        impl RunQueryDsl<Connection> for $name {}

        $(impl Query for $name {
            type SqlType = $row;
        })?
    };
}

/// A row to insert: names and values stand in one list, and each value has the type that the schema gives its column.
macro_rules! insert {
    ($(#[$doc:meta])* $name:ident into $table:ident {
        $first:ident: $first_rust:ty, $($column:ident: $rust:ty),* $(,)?
    } $(with { $($fixed:ident = $text:literal),* })?) => {
        $(#[$doc])*
        pub(super) struct $name {
            pub(super) $first: $first_rust,
            $(pub(super) $column: $rust),*
        }

        impl QueryId for $name {
            type QueryId = Self;
            const HAS_STATIC_QUERY_ID: bool = true;
        }

        impl QueryFragment<Pg> for $name {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Pg>) -> QueryResult<()> {
                out.push_sql(concat!(
                    "INSERT INTO ", stringify!($table), " (", $($(stringify!($fixed), ", ",)*)? stringify!($first),
                    $(", ", stringify!($column),)* ") VALUES (", $($($text, ", ",)*)?
                ));
                out.push_bind_param::<SqlTypeOf<schema::$table::$first>, $first_rust>(&self.$first)?;
                $(
                    out.push_sql(", ");
                    out.push_bind_param::<SqlTypeOf<schema::$table::$column>, $rust>(&self.$column)?;
                )*
                out.push_sql(")");
                Ok(())
            }
        }

        impl RunQueryDsl<Connection> for $name {}
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
        ("SELECT ", intent_columns!(), " FROM intents WHERE id = ") id: Key = Id,
    } "" -> <IntentColumns as Columns>::Sql
);

statement!(
    SelectIntentAt {
        ("SELECT ", intent_columns!(), " FROM intents WHERE rid = ") rid: i64 = BigInt,
    } "" -> <IntentColumns as Columns>::Sql
);

statement!(
    /// Waits for the row, and reads the time after that. Without the `WITH`, the time would be read before the wait.
    LockIntent {
        ("WITH locked AS MATERIALIZED (SELECT ", intent_columns!(), " FROM intents WHERE id = ")
        id: Key = Id,
    } (" FOR NO KEY UPDATE) SELECT ", intent_columns!(), ", clock_timestamp() FROM locked")
    -> (<IntentColumns as Columns>::Sql, Timestamptz)
);

statement!(
    /// As [`LockIntent`], but finds the intent by its row id.
    LockIntentAt {
        ("WITH locked AS MATERIALIZED (SELECT ", intent_columns!(), " FROM intents WHERE rid = ")
        rid: i64 = BigInt,
    } (" FOR NO KEY UPDATE) SELECT ", intent_columns!(), ", clock_timestamp() FROM locked")
    -> (<IntentColumns as Columns>::Sql, Timestamptz)
);

statement!(
    /// Locks those of some intents that no other transaction holds. Each row is looked up by itself. A join of the whole set
    /// could keep a plan from the time when the tables were small, and would then read the grown tables from end to end.
    LockIntents {
        "SELECT locked.* FROM unnest(" ids: Vec<Uuid> = Array<SqlUuid>,
    } (") AS asked (id) CROSS JOIN LATERAL (SELECT ", intent_columns!(), " FROM intents \
       WHERE intents.id = asked.id FOR NO KEY UPDATE SKIP LOCKED) AS locked") -> <IntentColumns as Columns>::Sql
);

statement!(
    /// The open suspensions of some intents.
    SelectOpen {
        "SELECT open.* FROM unnest(" ids: Vec<Uuid> = Array<SqlUuid>,
    } (") AS asked (id) CROSS JOIN LATERAL (SELECT ", suspension_columns!(behind s), ", i.id AS intent_id FROM intents i JOIN suspensions s ON s.rid = i.open_suspension WHERE i.id = asked.id \
       OFFSET 0) AS open") -> (<SuspensionColumns as Columns>::Sql, Id)
);

statement!(
    /// The events that asked the open questions of some intents.
    SelectAsked {
        "SELECT asked_by.* FROM unnest(" ids: Vec<Uuid> = Array<SqlUuid>,
    } ") AS asked (id) CROSS JOIN LATERAL (SELECT e.rid, e.bytes, e.hash FROM intents i JOIN suspensions s ON s.rid = i.open_suspension \
       JOIN events e ON e.rid = s.event WHERE i.id = asked.id OFFSET 0) AS asked_by" -> (BigInt, Binary, Binary)
);

statement!(
    /// Locks the queued messages without a lease about the open suspensions of some intents. An intent that another transaction
    /// holds is skipped, because that transaction must be able to lock its messages. The condition is `state < 1` and not `state
    /// = 0`: for `state = 0` PostgreSQL might choose the index of all queued messages, which may be long.
    LockMessages {
        "SELECT taken.rid FROM unnest(" ids: Vec<Uuid> = Array<SqlUuid>,
    } ") AS asked (id) CROSS JOIN LATERAL (SELECT o.rid FROM intents i JOIN outbox o ON o.suspension = i.open_suspension \
       WHERE i.id = asked.id AND o.state < 1 AND o.lease IS NULL FOR NO KEY UPDATE OF i, o SKIP LOCKED) AS taken" -> BigInt
);

statement!(
    /// The messages about the open suspensions of some intents.
    SelectMessages {
        "SELECT about.* FROM unnest(" ids: Vec<Uuid> = Array<SqlUuid>,
    } (") AS asked (id) CROSS JOIN LATERAL (SELECT ", outbox_columns!(behind o), " FROM intents i \
       JOIN outbox o ON o.suspension = i.open_suspension WHERE i.id = asked.id OFFSET 0) AS about") -> <OutboxColumns as Columns>::Sql
);

statement!(
    /// The outcomes kept for some idempotency keys on some days.
    SelectOutcomes {
        "SELECT kept.* FROM unnest(" keys: Vec<Vec<u8>> = Array<Binary>,
        ") AS asked (key_hash) CROSS JOIN LATERAL (SELECT day, key_hash, body_hash, outcome, created_at FROM idempotency \
         WHERE idempotency.key_hash = asked.key_hash AND day = ANY(" days: Vec<i32> = Array<Integer>,
    } ") OFFSET 0) AS kept" -> (Integer, Binary, Binary, Text, Moment)
);

statement!(
    SelectSuspension {
        ("SELECT ", suspension_columns!(behind s), ", i.id \
         FROM suspensions s JOIN intents i ON i.rid = s.intent WHERE s.id = ") id: Key = Id,
    } "" -> (<SuspensionColumns as Columns>::Sql, Id)
);

statement!(
    SelectSuspensionAt {
        ("SELECT ", suspension_columns!(behind s), ", i.id \
         FROM suspensions s JOIN intents i ON i.rid = s.intent WHERE s.rid = ") rid: i64 = BigInt,
    } "" -> (<SuspensionColumns as Columns>::Sql, Id)
);

insert!(
    InsertIntent into intents {
        rid: i64,
        id: Key,
        status: i32,
        version: i32,
        creator: String,
        creator_owner: Owned,
        created_at: At,
        updated_at: At,
    } with { has_leases = "false", unmet = "0", is_held = "false", is_grouped = "false", has_tasks = "false", last_event = "0", last_sequence = "0", last_hash = "''" }
);

insert!(
    InsertBody into intent_bodies {
        rid: i64,
        title: Said,
        description: Said,
        created_by: Said,
        parent: Option<Key>,
        depends_on: Written,
        constraints: Written,
        state: Written,
        governance_policy: Option<Written>,
        confidence: f64,
    }
);

statement!(
    UpdateIntent {
        "UPDATE intents SET status = " status: i32 = Integer,
        ", version = " version: i32 = Integer,
        ", updated_at = " updated_at: At = Moment,
        ", open_suspension = " open_suspension: Option<i64> = Nullable<BigInt>,
        ", newest_suspension = " newest_suspension: Option<i64> = Nullable<BigInt>,
        ", has_leases = " has_leases: bool = Bool,
        ", unmet = " unmet: i32 = Integer,
        ", is_held = " is_held: bool = Bool,
        ", is_grouped = " is_grouped: bool = Bool,
        ", has_tasks = " has_tasks: bool = Bool,
        ", last_event = " last_event: i64 = BigInt,
        ", last_sequence = " last_sequence: i64 = BigInt,
        ", last_hash = " last_hash: Vec<u8> = Binary,
        " WHERE rid = " rid: i64 = BigInt,
    } ""
);

insert!(
    InsertEvent into events {
        rid: i64,
        intent: i64,
        previous: Option<i64>,
        event_type: String,
        created_at: At,
        bytes: Vec<u8>,
        hash: Vec<u8>,
    }
);

insert!(
    InsertSuspension into suspensions {
        rid: i64,
        id: Key,
        intent: i64,
        event: i64,
        kind: i32,
        version: i32,
        attempt: i32,
        response_type: i32,
        choices: Written,
        suspended_at: At,
        expires_at: Option<At>,
        fallback_policy: i32,
        fallback_value: Option<Written>,
        reached: bool,
        requires_delivery: bool,
        fixed_deadline: bool,
        asker: String,
        asker_owner: Owned,
        quorum: Option<Written>,
        form: Option<Written>,
        places: Option<Written>,
    } with { refusals = "0" }
);

statement!(
    /// The one statement that ends a suspension: it changes the row only if the suspension has not ended before.
    EndSuspension {
        "UPDATE suspensions SET resolution = " resolution: i32 = Integer,
        ", resolution_reason = " resolution_reason: Option<i32> = Nullable<Integer>,
        ", resolved_at = " resolved_at: At = Moment,
        ", response = " response: Option<Written> = Nullable<Document>,
        ", resolved_by = " resolved_by: Option<String> = Nullable<Text>,
        ", metadata = " metadata: Option<Written> = Nullable<Document>,
        ", ending_event = " ending_event: i64 = BigInt,
        ", places = NULL, version = " version: i32 = Integer,
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

insert!(
    InsertTimer into timers {
        due_at: At,
        suspension: i64,
        kind: i32,
        attempt: i32,
    }
);

statement!(
    InsertInbox {
        "INSERT INTO inbox (place, due_at, suspension, keeps_owner, is_plain) VALUES (" place: String = Text,
        ", " due_at: At = Moment,
        ", " suspension: i64 = BigInt,
        ", " keeps_owner: bool = Bool,
        ", " is_plain: bool = Bool,
    } ") ON CONFLICT DO NOTHING"
);

statement!(
    InsertAnswered {
        "INSERT INTO answered (person, suspension) VALUES (" person: String = Text,
        ", " suspension: i64 = BigInt,
    } ") ON CONFLICT DO NOTHING"
);

statement!(
    DeleteInbox {
        "DELETE FROM inbox WHERE place = " place: String = Text,
        " AND due_at = " due_at: At = Moment,
        " AND suspension = " suspension: i64 = BigInt,
    } ""
);

insert!(
    InsertOutbox into outbox {
        rid: i64,
        id: Key,
        suspension: i64,
        attempt: i32,
        channel: String,
        recipient: String,
        due_at: At,
        sequence: i32,
        queued_at: At,
    } with { state = "0", tries = "0" }
);

statement!(
    /// The channels that have queued messages, each found by one step in the index: the messages themselves are not read.
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
        ", due_at = " due_at: At = Moment,
        ", tries = " tries: i32 = Integer,
        ", linked = " linked: bool = Bool,
        " WHERE rid = " rid: i64 = BigInt,
    } ""
);

statement!(
    FinishOutbox {
        "UPDATE outbox SET lease = NULL, leased_by = NULL, state = " state: i32 = Integer,
        ", settled_at = " settled_at: At = Moment,
        ", detail = coalesce(" detail: Option<Said> = Nullable<Prose>,
        ", detail) WHERE rid = " rid: i64 = BigInt,
    } ""
);

insert!(
    InsertToken into tokens {
        rid: i64,
        hash: Vec<u8>,
        suspension: i64,
        recipient: String,
        created_at: At,
        delivery: Option<Key>,
    }
);

statement!(
    /// Each connection adds to a row of its own, so two servers that write for one agent at the same time
    /// never wait for each other.
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

insert!(
    InsertSuspensionKey into suspension_keys {
        key_hash: Vec<u8>,
        body_hash: Vec<u8>,
        suspension: i64,
    }
);

statement!(
    /// A record that no longer counts may still stand under this day and key: the new one replaces it. A record that still counts
    /// stays. The statement then changes no row, which shows that another transaction was first.
    InsertIdempotent {
        "INSERT INTO idempotency AS kept (day, key_hash, body_hash, outcome, created_at) VALUES (" day: i32 = Integer,
        ", " key_hash: Vec<u8> = Binary,
        ", " body_hash: Vec<u8> = Binary,
        ", " outcome: String = Text,
        ", " created_at: At = Moment,
        ") ON CONFLICT (day, key_hash) DO UPDATE SET body_hash = excluded.body_hash, outcome = excluded.outcome, \
         created_at = excluded.created_at WHERE kept.created_at <= " counting_since: At = Moment,
    } ""
);

statement!(
    /// Locks a key until the transaction ends, after waiting for other holders. The first number spells "plak" in ASCII; the
    /// locks by which servers see each other have "plac".
    LockKey {
        "SELECT pg_advisory_xact_lock(1886151019, " hash: i32 = Integer,
    } ")"
);

statement!(
    /// Locks those of some keys that no other transaction holds. Unlike [`LockKey`], it never waits.
    LockKeys {
        "SELECT hash FROM unnest(" hashes: Vec<i32> = Array<Integer>,
    } ") AS asked (hash) WHERE pg_try_advisory_xact_lock(1886151019, hash)" -> Integer
);

statement!(
    /// Keeps other transactions from deciding about the messages of one agent to one person; never waits.
    /// The first number is the one after that of [`LockKey`].
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
    /// Makes messages due whose lease belongs to a server that is gone: no session holds the lock under that server's number.
    ReleaseOutbox {
        "UPDATE outbox SET lease = NULL, leased_by = NULL, due_at = " due_at: At = Moment,
    } " WHERE state = 0 AND lease IS NOT NULL AND NOT EXISTS (SELECT FROM pg_locks WHERE locktype = 'advisory' AND granted \
       AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) \
       AND classid = 1886151011 AND objid = outbox.leased_by::bigint::oid)"
);

statement!(
    /// Whether this server is the only one: each living server holds an advisory lock, and no other session holds one of these.
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
