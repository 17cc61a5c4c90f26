-- The server's own log: one chain of events for a deployment, whatever number of servers share the database.
CREATE TABLE server_events (
    sequence bigint PRIMARY KEY,
    event_type text NOT NULL,
    created_at timestamptz NOT NULL,
    bytes bytea NOT NULL,
    hash bytea NOT NULL
);
-- One row: the end of that chain. The server that appends an event locks the row, so that two servers do not append an event
-- after the same one.
CREATE TABLE server_log (
    rid bigint PRIMARY KEY,
    last_sequence bigint NOT NULL,
    last_hash bytea,
    last_at timestamptz
);
