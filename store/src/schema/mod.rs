//! The tables of both databases as diesel sees them. `migrations` is authoritative, and a test compares it with this module.

mod inboxes;
mod persons;
mod stopping;
mod waking;

pub(crate) use self::inboxes::{alerts, answered, errands, inbox};
pub(crate) use self::persons::{
    drafts, identities, logins, openid_logins, passkeys, people, people_group_members, people_groups, sessions, unsent_answers,
    views,
};
pub(crate) use self::stopping::{stops, wakes};
pub(crate) use self::waking::wake_posts;

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
    use crate::sql::{Id, Moment};

    intents (rid) {
        rid -> BigInt,
        id -> Id,
        status -> Integer,
        version -> Integer,
        creator -> Text,
        creator_owner -> Text,
        created_at -> Moment,
        updated_at -> Moment,
        open_suspension -> Nullable<BigInt>,
        newest_suspension -> Nullable<BigInt>,
        has_leases -> Bool,
        last_event -> BigInt,
        last_sequence -> BigInt,
        last_hash -> Binary,
        unmet -> Integer,
        is_held -> Bool,
        is_grouped -> Bool,
        has_tasks -> Bool,
        is_errand -> Bool,
    }
}

diesel::table! {
    /// Which intent needs which.
    graph_edges (intent, kind, needs) {
        intent -> BigInt,
        kind -> Integer,
        needs -> BigInt,
        is_met -> Bool,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer, Nullable};
    use crate::sql::{Document, Id, Moment};

    tasks (rid) {
        rid -> BigInt,
        id -> Id,
        intent -> BigInt,
        status -> Integer,
        facts -> Document,
        body -> Document,
        due_at -> Nullable<Moment>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer};
    use crate::sql::{Document, Id};

    plans (rid) {
        rid -> BigInt,
        id -> Id,
        intent -> BigInt,
        state -> Integer,
        facts -> Document,
        body -> Document,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Nullable};
    use crate::sql::{Document, Id, Moment};

    coordinators (rid) {
        rid -> BigInt,
        id -> Id,
        intent -> BigInt,
        facts -> Document,
        body -> Document,
        due_at -> Nullable<Moment>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
    use crate::sql::{Id, Moment};

    receipts (suspension) {
        suspension -> BigInt,
        id -> Id,
        event -> BigInt,
        statement -> Binary,
        standing -> Integer,
        closed_by -> Nullable<Text>,
        closed_at -> Nullable<Moment>,
    }
}

diesel::table! {
    use diesel::sql_types::Text;
    use crate::sql::{Document, Id, Moment, Prose};

    /// The legal holds in force.
    holds (id) {
        id -> Id,
        scope -> Document,
        reason -> Prose,
        placed_by -> Text,
        placed_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Nullable};

    /// Consecutive events of an intent whose payload and salt were erased.
    redactions (intent, last_sequence) {
        intent -> BigInt,
        last_sequence -> BigInt,
        first_sequence -> BigInt,
        previous -> Nullable<BigInt>,
        server_event -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Nullable};
    use crate::sql::{Document, Moment};

    retries (intent) {
        intent -> BigInt,
        facts -> Document,
        due_at -> Nullable<Moment>,
    }
}

diesel::table! {
    completions (intent) {
        intent -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Double, Nullable};
    use crate::sql::{Document, Id, Prose};

    intent_bodies (rid) {
        rid -> BigInt,
        title -> Prose,
        description -> Prose,
        created_by -> Prose,
        parent -> Nullable<Id>,
        depends_on -> Document,
        constraints -> Document,
        state -> Document,
        governance_policy -> Nullable<Document>,
        confidence -> Double,
        spent -> Nullable<Double>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Nullable, Text};
    use crate::sql::Moment;

    events (rid) {
        rid -> BigInt,
        intent -> BigInt,
        previous -> Nullable<BigInt>,
        event_type -> Text,
        created_at -> Moment,
        bytes -> Binary,
        hash -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Bool, Integer, Nullable, Text};
    use crate::sql::{Document, Id, Moment};

    suspensions (rid) {
        rid -> BigInt,
        id -> Id,
        intent -> BigInt,
        event -> BigInt,
        kind -> Integer,
        version -> Integer,
        attempt -> Integer,
        response_type -> Integer,
        choices -> Document,
        suspended_at -> Moment,
        expires_at -> Nullable<Moment>,
        fallback_policy -> Integer,
        fallback_value -> Nullable<Document>,
        reached -> Bool,
        requires_delivery -> Bool,
        refusals -> Integer,
        asker -> Text,
        asker_owner -> Text,
        resolution -> Nullable<Integer>,
        resolution_reason -> Nullable<Integer>,
        resolved_at -> Nullable<Moment>,
        response -> Nullable<Document>,
        resolved_by -> Nullable<Text>,
        metadata -> Nullable<Document>,
        reminded_at -> Nullable<Moment>,
        fixed_deadline -> Bool,
        ending_event -> Nullable<BigInt>,
        quorum -> Nullable<Document>,
        form -> Nullable<Document>,
        hands -> Nullable<Document>,
        question_key -> Nullable<Text>,
        places -> Nullable<Document>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Nullable, Text};
    use crate::sql::Id;

    counted_answers (suspension, person) {
        suspension -> BigInt,
        person -> Text,
        event -> BigInt,
        person_id -> Nullable<Id>,
    }
}

diesel::table! {
    suspension_keys (key_hash) {
        key_hash -> Binary,
        body_hash -> Binary,
        suspension -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{Binary, Integer, Text};
    use crate::sql::Moment;

    idempotency (day, key_hash) {
        day -> Integer,
        key_hash -> Binary,
        body_hash -> Binary,
        outcome -> Text,
        created_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer};
    use crate::sql::Moment;

    timers (due_at, suspension, kind, attempt) {
        due_at -> Moment,
        suspension -> BigInt,
        kind -> Integer,
        attempt -> Integer,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Bool, Integer, Nullable, Text};
    use crate::sql::{Id, Prose, Moment};

    outbox (rid) {
        rid -> BigInt,
        id -> Id,
        suspension -> BigInt,
        attempt -> Integer,
        channel -> Text,
        recipient -> Text,
        state -> Integer,
        due_at -> Moment,
        tries -> Integer,
        lease -> Nullable<Binary>,
        /// Only PostgreSQL has this column.
        leased_by -> Nullable<Integer>,
        sequence -> Integer,
        detail -> Nullable<Prose>,
        settled_at -> Nullable<Moment>,
        queued_at -> Moment,
        linked -> Nullable<Bool>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Nullable, Text};
    use crate::sql::{Id, Moment};

    tokens (rid) {
        rid -> BigInt,
        hash -> Binary,
        suspension -> BigInt,
        recipient -> Text,
        created_at -> Moment,
        delivery -> Nullable<Id>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer, Nullable, Text};
    use crate::sql::{Id, Prose, Moment};

    leases (rid) {
        rid -> BigInt,
        id -> Id,
        intent -> BigInt,
        agent_id -> Text,
        scope -> Prose,
        status -> Integer,
        acquired_at -> Moment,
        expires_at -> Moment,
        released_at -> Nullable<Moment>,
        duration_seconds -> Integer,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
    use crate::sql::{Id, Moment};

    api_keys (rid) {
        rid -> BigInt,
        id -> Id,
        name -> Text,
        role -> Integer,
        subject -> Text,
        owner -> Text,
        hash -> Binary,
        created_at -> Moment,
        revoked_at -> Nullable<Moment>,
        tied_to -> Nullable<Text>,
        client -> Nullable<Text>,
    }
}

diesel::table! {
    agent_bytes (day, agent, part) {
        agent -> Text,
        day -> Integer,
        part -> Integer,
        bytes -> BigInt,
    }
}

diesel::table! {
    secrets (name) {
        name -> Text,
        value -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Bool, Nullable};
    use crate::sql::Moment;

    presence (rid) {
        rid -> BigInt,
        /// Only PostgreSQL has this column.
        version -> BigInt,
        beat_at -> Moment,
        held_since -> Nullable<Moment>,
        released -> Bool,
        tokens_void_to -> BigInt,
        absent_from -> Nullable<Moment>,
        absent_until -> Nullable<Moment>,
        restored -> Bool,
        done_to -> BigInt,
        up_to -> BigInt,
    }
}

diesel::table! {
    suspension_traces (suspension) {
        suspension -> BigInt,
        context -> Text,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Bool, Nullable};
    use crate::sql::{Prose, Moment};

    bounces (outbox) {
        outbox -> BigInt,
        hard -> Bool,
        reported_at -> Moment,
        detail -> Nullable<Prose>,
    }
}

diesel::table! {
    use diesel::sql_types::BigInt;
    use crate::sql::Moment;

    departures (pair, left_at, outbox) {
        pair -> BigInt,
        left_at -> Moment,
        outbox -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::BigInt;
    use crate::sql::Moment;

    places (pair, leaves_at, outbox) {
        pair -> BigInt,
        leaves_at -> Moment,
        outbox -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Text};
    use crate::sql::Moment;

    server_events (sequence) {
        sequence -> BigInt,
        event_type -> Text,
        created_at -> Moment,
        bytes -> Binary,
        hash -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Nullable};
    use crate::sql::Moment;

    server_log (rid) {
        rid -> BigInt,
        last_sequence -> BigInt,
        last_hash -> Nullable<Binary>,
        last_at -> Nullable<Moment>,
    }
}

diesel::table! {
    assignments (intent, agent_id) {
        intent -> BigInt,
        agent_id -> Text,
        event -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer, Nullable, Text};
    use crate::sql::{Id, Moment};

    access_entries (intent, principal_id) {
        intent -> BigInt,
        principal_id -> Text,
        id -> Id,
        permission -> Integer,
        expires_at -> Nullable<Moment>,
        event -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer, Text};
    use crate::sql::Id;

    access_requests (intent, id) {
        intent -> BigInt,
        id -> Id,
        principal_id -> Text,
        requester -> Text,
        requester_owner -> Text,
        permission -> Integer,
        event -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
    use crate::sql::{Document, Id, Moment, Prose};

    portfolios (rid) {
        rid -> BigInt,
        id -> Id,
        status -> Integer,
        creator -> Text,
        creator_owner -> Text,
        claimed_creator -> Nullable<Prose>,
        name -> Prose,
        description -> Nullable<Prose>,
        metadata -> Document,
        governance_policy -> Document,
        created_at -> Moment,
        updated_at -> Moment,
        last_sequence -> BigInt,
        last_hash -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Text};
    use crate::sql::Moment;

    portfolio_events (portfolio, sequence) {
        portfolio -> BigInt,
        sequence -> BigInt,
        event_type -> Text,
        created_at -> Moment,
        bytes -> Binary,
        hash -> Binary,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer};
    use crate::sql::{Id, Moment};

    portfolio_members (portfolio, intent) {
        portfolio -> BigInt,
        intent -> BigInt,
        id -> Id,
        role -> Integer,
        priority -> Integer,
        added_at -> Moment,
        event -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Integer, Nullable, Text};
    use crate::sql::{Document, Id, Moment, Prose};

    subscriptions (rid) {
        rid -> BigInt,
        id -> Id,
        intent -> BigInt,
        creator -> Text,
        creator_owner -> Text,
        key_id -> Id,
        claimed_subscriber -> Nullable<Prose>,
        event_types -> Document,
        webhook_url -> Text,
        created_at -> Moment,
        expires_at -> Moment,
        sequence -> BigInt,
        missed -> BigInt,
        tries -> Integer,
        due_at -> Moment,
        lease -> Nullable<Binary>,
        push_id -> Nullable<Text>,
        push -> Nullable<Binary>,
    }
}

diesel::allow_tables_to_appear_in_same_query!(portfolio_members, portfolios);
diesel::allow_tables_to_appear_in_same_query!(portfolio_members, intents);
diesel::allow_tables_to_appear_in_same_query!(portfolio_members, suspensions);
diesel::allow_tables_to_appear_in_same_query!(graph_edges, intents);
diesel::allow_tables_to_appear_in_same_query!(assignments, graph_edges);
diesel::allow_tables_to_appear_in_same_query!(access_entries, graph_edges);
diesel::allow_tables_to_appear_in_same_query!(intent_bodies, intents);
diesel::allow_tables_to_appear_in_same_query!(access_entries, intents);
diesel::table! {
    published (rid) {
        rid -> BigInt,
        intent -> BigInt,
        /// Only PostgreSQL has this column.
        position -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Integer, Text};
    use crate::sql::{Id, Moment};

    announcements (intent) {
        intent -> BigInt,
        id -> Id,
        from_status -> Integer,
        announced_at -> Moment,
        asker -> Text,
        asker_owner -> Text,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Text};

    client_ids (intent, client_id) {
        intent -> BigInt,
        client_id -> Text,
        suspension -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(assignments, intents);
diesel::allow_tables_to_appear_in_same_query!(places, outbox);
diesel::allow_tables_to_appear_in_same_query!(intents, suspensions);
diesel::allow_tables_to_appear_in_same_query!(inbox, suspensions);
diesel::allow_tables_to_appear_in_same_query!(answered, suspensions);
diesel::allow_tables_to_appear_in_same_query!(counted_answers, inbox);
diesel::allow_tables_to_appear_in_same_query!(answered, counted_answers);
diesel::allow_tables_to_appear_in_same_query!(counted_answers, suspensions);
diesel::allow_tables_to_appear_in_same_query!(intents, subscriptions);

diesel::table! {
    use diesel::sql_types::{BigInt, Nullable};
    use crate::sql::Moment;

    /// How far the tree over all events reaches: one row.
    tree (rid) {
        rid -> BigInt,
        size -> BigInt,
        events -> BigInt,
        signed_size -> BigInt,
        latest_at -> Nullable<Moment>,
    }
}

diesel::table! {
    /// Events that have no leaf yet; in SQLite those of portfolios and of the server alone.
    unplaced (source, subject, number) {
        source -> Integer,
        subject -> BigInt,
        number -> BigInt,
    }
}

diesel::table! {
    tree_tiles (level, number) {
        level -> Integer,
        number -> BigInt,
        hashes -> Binary,
    }
}

diesel::table! {
    tree_runs (first_leaf) {
        first_leaf -> BigInt,
        source -> Integer,
        subject -> BigInt,
        number -> BigInt,
        length -> BigInt,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Text};
    use crate::sql::Moment;

    checkpoints (size) {
        size -> BigInt,
        root -> Binary,
        note -> Text,
        created_at -> Moment,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Binary, Nullable, Text};
    use crate::sql::Moment;

    log_keys (rid) {
        rid -> BigInt,
        name -> Text,
        public -> Binary,
        sealed -> Nullable<Binary>,
        created_at -> Moment,
        signature -> Nullable<Text>,
    }
}

diesel::table! {
    use diesel::sql_types::{BigInt, Nullable, Text};
    use crate::sql::Moment;

    /// How far the tree reaches that each witness cosigned, and what was mailed to auditors last.
    witnesses (key) {
        key -> Text,
        size -> BigInt,
        mailed_at -> Nullable<Moment>,
    }
}
