//! The tables as diesel sees them; `migrations/sqlite` is the truth, and a test compares the two.

diesel::table! {
    intents (rid) {
        rid -> BigInt,
        id -> Binary,
        status -> Integer,
        version -> Integer,
        creator -> Text,
        creator_owner -> Text,
        created_at -> BigInt,
        updated_at -> BigInt,
        open_suspension -> Nullable<BigInt>,
        newest_suspension -> Nullable<BigInt>,
        has_leases -> Bool,
        last_event -> BigInt,
        last_sequence -> BigInt,
        last_hash -> Binary,
    }
}

diesel::table! {
    intent_bodies (rid) {
        rid -> BigInt,
        title -> Text,
        description -> Text,
        created_by -> Text,
        parent -> Nullable<Binary>,
        depends_on -> Text,
        constraints -> Text,
        state -> Text,
        governance_policy -> Nullable<Text>,
        confidence -> Double,
    }
}

diesel::table! {
    events (rid) {
        rid -> BigInt,
        intent -> BigInt,
        previous -> Nullable<BigInt>,
        event_type -> Text,
        created_at -> BigInt,
        bytes -> Binary,
        hash -> Binary,
    }
}

diesel::table! {
    suspensions (rid) {
        rid -> BigInt,
        id -> Binary,
        intent -> BigInt,
        event -> BigInt,
        kind -> Integer,
        version -> Integer,
        attempt -> Integer,
        response_type -> Integer,
        choices -> Text,
        suspended_at -> BigInt,
        expires_at -> Nullable<BigInt>,
        fallback_policy -> Integer,
        fallback_value -> Nullable<Text>,
        reached -> Bool,
        requires_delivery -> Bool,
        refusals -> Integer,
        asker -> Text,
        asker_owner -> Text,
        resolution -> Nullable<Integer>,
        resolution_reason -> Nullable<Integer>,
        resolved_at -> Nullable<BigInt>,
        response -> Nullable<Text>,
        resolved_by -> Nullable<Text>,
        metadata -> Nullable<Text>,
        reminded_at -> Nullable<BigInt>,
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
    idempotency (day, key_hash) {
        day -> Integer,
        key_hash -> Binary,
        body_hash -> Binary,
        outcome -> Text,
        created_at -> BigInt,
    }
}

diesel::table! {
    timers (due_at, suspension, kind, attempt) {
        due_at -> BigInt,
        suspension -> BigInt,
        kind -> Integer,
        attempt -> Integer,
    }
}

diesel::table! {
    outbox (rid) {
        rid -> BigInt,
        id -> Binary,
        suspension -> BigInt,
        attempt -> Integer,
        channel -> Text,
        recipient -> Text,
        state -> Integer,
        due_at -> BigInt,
        tries -> Integer,
        lease -> Nullable<Binary>,
        sequence -> Integer,
        detail -> Nullable<Text>,
        settled_at -> Nullable<BigInt>,
        queued_at -> BigInt,
        linked -> Nullable<Bool>,
    }
}

diesel::table! {
    tokens (rid) {
        rid -> BigInt,
        hash -> Binary,
        suspension -> BigInt,
        recipient -> Text,
        created_at -> BigInt,
        delivery -> Nullable<Binary>,
    }
}

diesel::table! {
    leases (rid) {
        rid -> BigInt,
        id -> Binary,
        intent -> BigInt,
        agent_id -> Text,
        scope -> Text,
        status -> Integer,
        acquired_at -> BigInt,
        expires_at -> BigInt,
        released_at -> Nullable<BigInt>,
        duration_seconds -> Integer,
    }
}

diesel::table! {
    api_keys (rid) {
        rid -> BigInt,
        id -> Binary,
        name -> Text,
        role -> Integer,
        subject -> Text,
        owner -> Text,
        hash -> Binary,
        created_at -> BigInt,
        revoked_at -> Nullable<BigInt>,
        tied_to -> Nullable<Text>,
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
    presence (rid) {
        rid -> BigInt,
        beat_at -> BigInt,
        held_since -> Nullable<BigInt>,
        released -> Bool,
        tokens_void_to -> BigInt,
        absent_from -> Nullable<BigInt>,
        absent_until -> Nullable<BigInt>,
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
    bounces (outbox) {
        outbox -> BigInt,
        hard -> Bool,
        reported_at -> BigInt,
        detail -> Nullable<Text>,
    }
}

diesel::table! {
    departures (pair, left_at, outbox) {
        pair -> BigInt,
        left_at -> BigInt,
        outbox -> BigInt,
    }
}

diesel::table! {
    places (pair, leaves_at, outbox) {
        pair -> BigInt,
        leaves_at -> BigInt,
        outbox -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(places, outbox);
