-- The legal holds in force. `scope` is JSON: everything, the intents of an agent, or one intent. A hold that is lifted leaves the table; the
-- server's log has both events.
CREATE TABLE holds (
    id BLOB PRIMARY KEY NOT NULL,
    scope TEXT NOT NULL,
    reason TEXT NOT NULL,
    placed_by TEXT NOT NULL,
    placed_at BIGINT NOT NULL
) WITHOUT ROWID;
