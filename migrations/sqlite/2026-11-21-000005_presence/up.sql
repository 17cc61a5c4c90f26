-- The presence of the server, in one row: its last sign of life, whether it waits for an operator after a restore, and the
-- absence for which open questions are being given more time. A running server leaves a sign of life here about every ten
-- seconds.
CREATE TABLE presence (
    rid INTEGER PRIMARY KEY NOT NULL CHECK (rid = 1),
    beat_at BIGINT NOT NULL,
    held_since BIGINT,
    released BOOLEAN NOT NULL,
    tokens_void_to BIGINT NOT NULL,
    absent_from BIGINT,
    absent_until BIGINT,
    restored BOOLEAN NOT NULL,
    done_to BIGINT NOT NULL,
    up_to BIGINT NOT NULL
);

-- Open questions with a fallback, for which silence may count as consent. They get more time after an absence of the servers.
CREATE INDEX suspensions_open_with_fallback ON suspensions (rid) WHERE resolution IS NULL AND fallback_policy <> 0;
