-- docs/data-model.md tells the life of each row; the tables are those of SQLite with PostgreSQL's own types. Rows refer to each
-- other by `rid`, which comes from sequences. JSON is `json` and not `jsonb`: it is read back as it was written, and it may hold
-- \u0000, which jsonb and text refuse. Callers' texts that may hold \u0000 are JSON strings for that reason.

CREATE SEQUENCE intents_rid;
CREATE SEQUENCE suspensions_rid;
CREATE SEQUENCE outbox_rid;
-- Events and tokens are never read in the order of these ids alone, so each connection takes a block of 64 ids at a time.
CREATE SEQUENCE events_rid INCREMENT BY 64;
CREATE SEQUENCE tokens_rid INCREMENT BY 64;

-- A command locks the row of its intent, so that commands on one intent run one after the other.
CREATE TABLE intents (
    rid bigint PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    status integer NOT NULL,
    version integer NOT NULL,
    creator text NOT NULL,
    creator_owner text NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    open_suspension bigint,
    newest_suspension bigint,
    has_leases boolean NOT NULL,
    last_event bigint NOT NULL,
    last_sequence bigint NOT NULL,
    last_hash bytea NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX intents_by_creator ON intents (creator, rid);

-- The parts of an intent that most decisions do not need. They have a table of their own so that the row above stays small.
CREATE TABLE intent_bodies (
    rid bigint PRIMARY KEY REFERENCES intents (rid),
    title json NOT NULL,
    description json NOT NULL,
    created_by json NOT NULL,
    parent uuid,
    depends_on json NOT NULL,
    constraints json NOT NULL,
    state json NOT NULL,
    governance_policy json,
    confidence double precision NOT NULL
);

-- Append-only: the canonical bytes that were hashed. `previous` links one intent's events from newest to oldest.
CREATE TABLE events (
    rid bigint PRIMARY KEY,
    intent bigint NOT NULL REFERENCES intents (rid),
    previous bigint,
    event_type text NOT NULL,
    created_at timestamptz NOT NULL,
    bytes bytea NOT NULL,
    hash bytea NOT NULL
);
-- This index keeps a log from forking: an event has one successor, and a log has one beginning. Two transactions cannot add the
-- same event, so the rows that a transaction writes with its event are not written twice either.
CREATE UNIQUE INDEX events_one_successor ON events (intent, coalesce(previous, 0));

-- The facts that checking an answer needs; the question itself is in the event that asked it.
CREATE TABLE suspensions (
    rid bigint PRIMARY KEY,
    id uuid NOT NULL UNIQUE,
    intent bigint NOT NULL REFERENCES intents (rid),
    event bigint NOT NULL REFERENCES events (rid),
    kind integer NOT NULL,
    version integer NOT NULL,
    attempt integer NOT NULL,
    response_type integer NOT NULL,
    choices json NOT NULL,
    suspended_at timestamptz NOT NULL,
    expires_at timestamptz,
    fallback_policy integer NOT NULL,
    fallback_value json,
    reached boolean NOT NULL,
    requires_delivery boolean NOT NULL,
    refusals integer NOT NULL,
    asker text NOT NULL,
    asker_owner text NOT NULL,
    resolution integer,
    resolution_reason integer,
    resolved_at timestamptz,
    response json,
    resolved_by text,
    metadata json
);
CREATE UNIQUE INDEX suspensions_one_open ON suspensions (intent) WHERE resolution IS NULL;
CREATE INDEX suspensions_by_asker ON suspensions (asker, rid);
CREATE INDEX suspensions_open ON suspensions (rid) WHERE resolution IS NULL;

-- Idempotency of suspend: kept as long as the suspension.
CREATE TABLE suspension_keys (
    key_hash bytea PRIMARY KEY,
    body_hash bytea NOT NULL,
    suspension bigint NOT NULL REFERENCES suspensions (rid)
);

-- Idempotency of every other POST: kept 24 hours, ordered by day so that inserts stay together.
CREATE TABLE idempotency (
    day integer NOT NULL,
    key_hash bytea NOT NULL,
    body_hash bytea NOT NULL,
    outcome text NOT NULL,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (day, key_hash)
);

-- The times at which suspensions are due. The timer of a suspension that has ended is dropped when it comes due.
CREATE TABLE timers (
    due_at timestamptz NOT NULL,
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    kind integer NOT NULL,
    attempt integer NOT NULL,
    PRIMARY KEY (due_at, suspension, kind, attempt)
) WITH (autovacuum_vacuum_scale_factor = 0.02);

-- One row per message and recipient. While a server has leased the message to send it, `due_at` is the end of the lease.
CREATE TABLE outbox (
    rid bigint PRIMARY KEY,
    id uuid NOT NULL,
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    attempt integer NOT NULL,
    channel text NOT NULL,
    recipient text NOT NULL,
    state integer NOT NULL,
    due_at timestamptz NOT NULL,
    tries integer NOT NULL,
    lease bytea,
    -- The server that holds the lease: the number under which it holds an advisory lock while it lives.
    leased_by integer
) WITH (fillfactor = 80);
CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 0;

-- Answer links: only the hash of a token is stored.
CREATE TABLE tokens (
    rid bigint PRIMARY KEY,
    hash bytea NOT NULL,
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    recipient text NOT NULL,
    created_at timestamptz NOT NULL
);

CREATE TABLE leases (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    intent bigint NOT NULL REFERENCES intents (rid),
    agent_id text NOT NULL,
    scope json NOT NULL,
    status integer NOT NULL,
    acquired_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    released_at timestamptz,
    duration_seconds integer NOT NULL
);
CREATE INDEX leases_by_intent ON leases (intent);

-- API keys: only the hash of a key is stored.
CREATE TABLE api_keys (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    name text NOT NULL,
    role integer NOT NULL,
    subject text NOT NULL,
    owner text NOT NULL,
    hash bytea NOT NULL UNIQUE,
    created_at timestamptz NOT NULL,
    revoked_at timestamptz
);

-- Secrets that the servers on this database share; the first server that needs one makes it.
CREATE TABLE secrets (
    name text PRIMARY KEY,
    value bytea NOT NULL
);
