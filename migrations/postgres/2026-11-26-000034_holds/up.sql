-- The legal holds in force. `scope` is JSON: everything, the intents of an agent, or one intent. A hold that is lifted leaves the table; the
-- server's log has both events.
CREATE TABLE holds (
    id uuid PRIMARY KEY,
    scope json NOT NULL,
    reason json NOT NULL,
    placed_by text NOT NULL,
    placed_at timestamptz NOT NULL
);
