-- The presence of the server, in one row: when it was last there, whether it waits after a restore, and the absence that is being
-- made good. A running server leaves a sign of life here about every ten seconds.
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

-- Open questions for which silence would become consent: an absence gives time back to these.
CREATE INDEX suspensions_open_with_fallback ON suspensions (rid) WHERE resolution IS NULL AND fallback_policy <> 0;
