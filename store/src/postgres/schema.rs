//! The tables as diesel sees them; `migrations/postgres` is the truth.

diesel::table! {
    intents (rid) {
        rid -> BigInt,
        id -> Uuid,
        status -> Integer,
        version -> Integer,
        creator -> Text,
        creator_owner -> Text,
        created_at -> Timestamptz,
        updated_at -> Timestamptz,
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
        title -> Json,
        description -> Json,
        created_by -> Json,
        parent -> Nullable<Uuid>,
        depends_on -> Json,
        constraints -> Json,
        state -> Json,
        governance_policy -> Nullable<Json>,
        confidence -> Double,
    }
}

diesel::table! {
    events (rid) {
        rid -> BigInt,
        intent -> BigInt,
        previous -> Nullable<BigInt>,
        event_type -> Text,
        created_at -> Timestamptz,
        bytes -> Binary,
        hash -> Binary,
    }
}

diesel::table! {
    suspensions (rid) {
        rid -> BigInt,
        id -> Uuid,
        intent -> BigInt,
        event -> BigInt,
        kind -> Integer,
        version -> Integer,
        attempt -> Integer,
        response_type -> Integer,
        choices -> Json,
        suspended_at -> Timestamptz,
        expires_at -> Nullable<Timestamptz>,
        fallback_policy -> Integer,
        fallback_value -> Nullable<Json>,
        reached -> Bool,
        requires_delivery -> Bool,
        refusals -> Integer,
        asker -> Text,
        asker_owner -> Text,
        resolution -> Nullable<Integer>,
        resolution_reason -> Nullable<Integer>,
        resolved_at -> Nullable<Timestamptz>,
        response -> Nullable<Json>,
        resolved_by -> Nullable<Text>,
        metadata -> Nullable<Json>,
        reminded_at -> Nullable<Timestamptz>,
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
        created_at -> Timestamptz,
    }
}

diesel::table! {
    timers (due_at, suspension, kind, attempt) {
        due_at -> Timestamptz,
        suspension -> BigInt,
        kind -> Integer,
        attempt -> Integer,
    }
}

diesel::table! {
    outbox (rid) {
        rid -> BigInt,
        id -> Uuid,
        suspension -> BigInt,
        attempt -> Integer,
        channel -> Text,
        recipient -> Text,
        state -> Integer,
        due_at -> Timestamptz,
        tries -> Integer,
        lease -> Nullable<Binary>,
        leased_by -> Nullable<Integer>,
        sequence -> Integer,
        detail -> Nullable<Json>,
        settled_at -> Nullable<Timestamptz>,
        queued_at -> Timestamptz,
        linked -> Nullable<Bool>,
    }
}

diesel::table! {
    tokens (rid) {
        rid -> BigInt,
        hash -> Binary,
        suspension -> BigInt,
        recipient -> Text,
        created_at -> Timestamptz,
        delivery -> Nullable<Uuid>,
    }
}

diesel::table! {
    leases (rid) {
        rid -> BigInt,
        id -> Uuid,
        intent -> BigInt,
        agent_id -> Text,
        scope -> Json,
        status -> Integer,
        acquired_at -> Timestamptz,
        expires_at -> Timestamptz,
        released_at -> Nullable<Timestamptz>,
        duration_seconds -> Integer,
    }
}

diesel::table! {
    api_keys (rid) {
        rid -> BigInt,
        id -> Uuid,
        name -> Text,
        role -> Integer,
        subject -> Text,
        owner -> Text,
        hash -> Binary,
        created_at -> Timestamptz,
        revoked_at -> Nullable<Timestamptz>,
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
    suspension_traces (suspension) {
        suspension -> BigInt,
        context -> Text,
    }
}
diesel::table! {
    presence (rid) {
        rid -> Integer,
        version -> BigInt,
        beat_at -> Timestamptz,
        held_since -> Nullable<Timestamptz>,
        released -> Bool,
        tokens_void_to -> BigInt,
        absent_from -> Nullable<Timestamptz>,
        absent_until -> Nullable<Timestamptz>,
        restored -> Bool,
        done_to -> BigInt,
        up_to -> BigInt,
    }
}

diesel::table! {
    bounces (outbox) {
        outbox -> BigInt,
        hard -> Bool,
        reported_at -> Timestamptz,
        detail -> Nullable<Json>,
    }
}

diesel::table! {
    departures (pair, left_at, outbox) {
        pair -> BigInt,
        left_at -> Timestamptz,
        outbox -> BigInt,
    }
}

diesel::table! {
    places (pair, leaves_at, outbox) {
        pair -> BigInt,
        leaves_at -> Timestamptz,
        outbox -> BigInt,
    }
}

diesel::allow_tables_to_appear_in_same_query!(places, outbox);

diesel::allow_tables_to_appear_in_same_query!(intents, suspensions);
