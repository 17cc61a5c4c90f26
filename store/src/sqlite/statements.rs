//! The few hot statements, each with a fixed text.
//!
//! Diesel prepares `sql_query` and every DSL `UPDATE` anew on each execution; a fragment with a static id is prepared once per
//! connection. A statement with a static id must have the same text whatever its values are. The macro ensures that, because it
//! can put values into a statement only as parameters.
//!
//! SQLite itself prepares a statement anew whenever another value is bound to its `LIMIT`, because the value may change its
//! plan. Diesel's `first` binds its `LIMIT`, so one row is read with `get_result`; the limit of a hot statement is written as a
//! sum (`0 + ?`), which SQLite does not evaluate for its plan.

use diesel::dsl::SqlTypeOf;
use diesel::query_builder::{AstPass, Query, QueryFragment, QueryId};
use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
use diesel::sqlite::Sqlite;
use diesel::{QueryResult, RunQueryDsl, SqliteConnection};

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
                    out.push_sql(text!($text));
                    out.push_bind_param::<$sql, $rust>(self.$field)?;
                )*
                out.push_sql(text!($tail));
                Ok(())
            }
        }

        impl RunQueryDsl<SqliteConnection> for $name<'_> {}

        $(impl Query for $name<'_> {
            type SqlType = $row;
        })?
    };
}

/// A row to insert: names and values stand in one list, and each value has the type that the schema gives its column.
macro_rules! insert {
    ($(#[$doc:meta])* $name:ident into $($rest:tt)*) => {
        insert!(@"INSERT" $(#[$doc])* $name into $($rest)*);
    };
    (@$verb:literal $(#[$doc:meta])* $name:ident into $table:ident {
        $first:ident: $first_rust:ty, $($column:ident: $rust:ty),* $(,)?
    } $(with { $($fixed:ident = $text:literal),* })?) => {
        $(#[$doc])*
        pub(super) struct $name<'a> {
            pub(super) $first: &'a $first_rust,
            $(pub(super) $column: &'a $rust),*
        }

        impl QueryId for $name<'_> {
            type QueryId = $name<'static>;
            const HAS_STATIC_QUERY_ID: bool = true;
        }

        impl QueryFragment<Sqlite> for $name<'_> {
            fn walk_ast<'b>(&'b self, mut out: AstPass<'_, 'b, Sqlite>) -> QueryResult<()> {
                out.push_sql(concat!(
                    $verb, " INTO ", stringify!($table), " (", $($(stringify!($fixed), ", ",)*)? stringify!($first),
                    $(", ", stringify!($column),)* ") VALUES (", $($($text, ", ",)*)?
                ));
                out.push_bind_param::<SqlTypeOf<schema::$table::$first>, $first_rust>(self.$first)?;
                $(
                    out.push_sql(", ");
                    out.push_bind_param::<SqlTypeOf<schema::$table::$column>, $rust>(self.$column)?;
                )*
                out.push_sql(")");
                Ok(())
            }
        }

        impl RunQueryDsl<SqliteConnection> for $name<'_> {}
    };
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
    SelectIntentId {
        "SELECT id FROM intents WHERE rid = " rid: i64 = BigInt,
    } "" -> Id
);

statement!(
    SelectSuspension {
        ("SELECT ", suspension_columns!(), " FROM suspensions WHERE id = ") id: Key = Id,
    } "" -> <SuspensionColumns as Columns>::Sql
);

statement!(
    SelectSuspensionAt {
        ("SELECT ", suspension_columns!(), " FROM suspensions WHERE rid = ") rid: i64 = BigInt,
    } "" -> <SuspensionColumns as Columns>::Sql
);

insert!(
    InsertIntent into intents {
        rid: i64,
        id: Key,
        status: i32,
        version: i32,
        creator: str,
        creator_owner: Owned,
        created_at: At,
        updated_at: At,
    } with { has_leases = "0", unmet = "0", is_held = "0", is_grouped = "0", has_tasks = "0", last_event = "0", last_sequence = "0", last_hash = "x''" }
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
        ", last_hash = " last_hash: [u8] = Binary,
        " WHERE rid = " rid: i64 = BigInt,
    } ""
);

insert!(
    InsertEvent into events {
        rid: i64,
        intent: i64,
        previous: Option<i64>,
        event_type: str,
        created_at: At,
        bytes: [u8],
        hash: [u8],
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
        asker: str,
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

insert!(
    @"INSERT OR IGNORE" InsertInbox into inbox {
        place: str,
        due_at: At,
        suspension: i64,
        keeps_owner: bool,
        is_plain: bool,
    }
);

insert!(
    @"INSERT OR IGNORE" InsertAnswered into answered {
        person: str,
        suspension: i64,
    }
);

statement!(
    DeleteInbox {
        "DELETE FROM inbox WHERE place = " place: str = Text,
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
        channel: str,
        recipient: str,
        due_at: At,
        sequence: i32,
        queued_at: At,
    } with { state = "0", tries = "0" }
);

statement!(
    /// The next channel that has queued messages, and the due time of its first message. This takes one step in the index and
    /// reads nothing else of the queue.
    SelectNextQueue {
        "SELECT channel, due_at FROM outbox WHERE state = 0 AND channel > " after: str = Text,
    } " ORDER BY channel, due_at LIMIT 1" -> (Text, BigInt)
);

statement!(
    /// The due messages of a channel. The state is a literal, so that the partial index of queued messages serves the query.
    SelectDueOutbox {
        ("SELECT ", outbox_columns!(), " FROM outbox WHERE state = 0 AND channel = ") channel: str = Text,
        " AND due_at <= " due_at: At = Moment,
        " ORDER BY due_at LIMIT 0 + " limit: i64 = BigInt,
    } "" -> <OutboxColumns as Columns>::Sql
);

statement!(
    /// The due time of the message that follows the first `keep` due ones, if more than `keep` are due.
    SelectMoreDue {
        "SELECT due_at FROM outbox WHERE state = 0 AND channel = " channel: str = Text,
        " AND due_at <= " due_at: At = Moment,
        " ORDER BY due_at LIMIT 1 OFFSET " keep: i64 = BigInt,
    } "" -> BigInt
);

statement!(
    SelectOutboxOf {
        ("SELECT ", outbox_columns!(), " FROM outbox WHERE suspension = ") suspension: i64 = BigInt,
    } " ORDER BY rid" -> <OutboxColumns as Columns>::Sql
);

statement!(
    LeaseOutbox {
        "UPDATE outbox SET lease = " lease: [u8] = Binary,
        ", due_at = " due_at: At = Moment,
        ", tries = " tries: i32 = Integer,
        ", linked = " linked: bool = Bool,
        " WHERE rid = " rid: i64 = BigInt,
    } ""
);

statement!(
    FinishOutbox {
        "UPDATE outbox SET lease = NULL, state = " state: i32 = Integer,
        ", settled_at = " settled_at: At = Moment,
        ", detail = coalesce(" detail: Option<Said> = Nullable<Prose>,
        ", detail) WHERE rid = " rid: i64 = BigInt,
    } ""
);

insert!(
    InsertToken into tokens {
        rid: i64,
        hash: [u8],
        suspension: i64,
        recipient: str,
        created_at: At,
        delivery: Option<Key>,
    }
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

insert!(
    InsertSuspensionKey into suspension_keys {
        key_hash: [u8],
        body_hash: [u8],
        suspension: i64,
    }
);

insert!(
    @"INSERT OR REPLACE"
    /// A record older than 24 hours may still stand under this day and key: the new record replaces it.
    InsertIdempotent into idempotency {
        day: i32,
        key_hash: [u8],
        body_hash: [u8],
        outcome: str,
        created_at: At,
    }
);
