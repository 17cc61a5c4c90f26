-- The server's own log: one chain of events, to which the server and the command line append.
CREATE TABLE server_events (
    sequence INTEGER PRIMARY KEY,
    event_type TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    bytes BLOB NOT NULL,
    hash BLOB NOT NULL
);
-- One row: the end of that chain. SQLite lets one program write at a time, so no two events follow the same event.
CREATE TABLE server_log (
    rid INTEGER PRIMARY KEY,
    last_sequence BIGINT NOT NULL,
    last_hash BLOB,
    last_at BIGINT
);
