-- docs/data-model.md tells the life of each row. Times are microseconds since 1970, ids are 16-byte UUIDs, and rows refer to each
-- other by `rid`, which the writer assigns. Because of these row ids, an answer changes one page of suspensions, one page of
-- intents and the end of the events, and little else.

CREATE TABLE intents (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    status INTEGER NOT NULL,
    version INTEGER NOT NULL,
    creator TEXT NOT NULL,
    creator_owner TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    open_suspension BIGINT,
    newest_suspension BIGINT,
    has_leases BOOLEAN NOT NULL,
    last_event BIGINT NOT NULL,
    last_sequence BIGINT NOT NULL,
    last_hash BLOB NOT NULL
);
CREATE INDEX intents_by_creator ON intents (creator);

-- The parts of an intent that most decisions do not need. They have a table of their own so that the row above stays small.
CREATE TABLE intent_bodies (
    rid INTEGER PRIMARY KEY NOT NULL REFERENCES intents (rid),
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    created_by TEXT NOT NULL,
    parent BLOB,
    depends_on TEXT NOT NULL,
    constraints TEXT NOT NULL,
    state TEXT NOT NULL,
    governance_policy TEXT,
    confidence DOUBLE NOT NULL
);

-- Append-only: the canonical bytes that were hashed. `previous` links one intent's events from newest to oldest.
CREATE TABLE events (
    rid INTEGER PRIMARY KEY NOT NULL,
    intent BIGINT NOT NULL REFERENCES intents (rid),
    previous BIGINT,
    event_type TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    bytes BLOB NOT NULL,
    hash BLOB NOT NULL
);

-- The facts that checking an answer needs; the question itself is in the event that asked it.
CREATE TABLE suspensions (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    intent BIGINT NOT NULL REFERENCES intents (rid),
    event BIGINT NOT NULL REFERENCES events (rid),
    kind INTEGER NOT NULL,
    version INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    response_type INTEGER NOT NULL,
    choices TEXT NOT NULL,
    suspended_at BIGINT NOT NULL,
    expires_at BIGINT,
    fallback_policy INTEGER NOT NULL,
    fallback_value TEXT,
    reached BOOLEAN NOT NULL,
    requires_delivery BOOLEAN NOT NULL,
    refusals INTEGER NOT NULL,
    asker TEXT NOT NULL,
    asker_owner TEXT NOT NULL,
    resolution INTEGER,
    resolution_reason INTEGER,
    resolved_at BIGINT,
    response TEXT,
    resolved_by TEXT,
    metadata TEXT
);
CREATE UNIQUE INDEX suspensions_one_open ON suspensions (intent) WHERE resolution IS NULL;
CREATE INDEX suspensions_by_asker ON suspensions (asker);
CREATE INDEX suspensions_open ON suspensions (rid) WHERE resolution IS NULL;

-- Idempotency of suspend: kept as long as the suspension.
CREATE TABLE suspension_keys (
    key_hash BLOB PRIMARY KEY NOT NULL,
    body_hash BLOB NOT NULL,
    suspension BIGINT NOT NULL REFERENCES suspensions (rid)
) WITHOUT ROWID;

-- Idempotency of every other POST: kept 24 hours, ordered by day so that inserts stay together.
CREATE TABLE idempotency (
    day INTEGER NOT NULL,
    key_hash BLOB NOT NULL,
    body_hash BLOB NOT NULL,
    outcome TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (day, key_hash)
) WITHOUT ROWID;

-- The times at which suspensions are due. The timer of a suspension that has ended is dropped when it comes due.
CREATE TABLE timers (
    due_at BIGINT NOT NULL,
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    kind INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    PRIMARY KEY (due_at, suspension, kind, attempt)
) WITHOUT ROWID;

-- One row per message and recipient. While a server has leased the message to send it, `due_at` is the end of the lease.
CREATE TABLE outbox (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL,
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    attempt INTEGER NOT NULL,
    channel TEXT NOT NULL,
    recipient TEXT NOT NULL,
    state INTEGER NOT NULL,
    due_at BIGINT NOT NULL,
    tries INTEGER NOT NULL,
    lease BLOB
);
CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 0;

-- Answer links: only the hash of a token is stored.
CREATE TABLE tokens (
    rid INTEGER PRIMARY KEY NOT NULL,
    hash BLOB NOT NULL,
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    recipient TEXT NOT NULL,
    created_at BIGINT NOT NULL
);

CREATE TABLE leases (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    intent BIGINT NOT NULL REFERENCES intents (rid),
    agent_id TEXT NOT NULL,
    scope TEXT NOT NULL,
    status INTEGER NOT NULL,
    acquired_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    released_at BIGINT,
    duration_seconds INTEGER NOT NULL
);
CREATE INDEX leases_by_intent ON leases (intent);

-- API keys: only the hash of a key is stored.
CREATE TABLE api_keys (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    role INTEGER NOT NULL,
    subject TEXT NOT NULL,
    owner TEXT NOT NULL,
    hash BLOB NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    revoked_at BIGINT
);

-- Secrets that the server makes for itself when it first needs them.
CREATE TABLE secrets (
    name TEXT PRIMARY KEY NOT NULL,
    value BLOB NOT NULL
) WITHOUT ROWID;
