-- The server's own log: one chain of events for a deployment, whatever number of servers share the database.
CREATE TABLE server_events (
    sequence INTEGER PRIMARY KEY,
    event_type TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    bytes BLOB NOT NULL,
    hash BLOB NOT NULL
);
-- One row: the end of that chain. The server that appends locks the row, so that two servers do not follow the same event.
CREATE TABLE server_log (
    rid INTEGER PRIMARY KEY,
    last_sequence BIGINT NOT NULL,
    last_hash BLOB,
    last_at BIGINT
);
