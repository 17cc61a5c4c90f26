-- What the server knows of its own presence, in one row: when it was last there, whether it waits after a restore, and which absence
-- it is making good for. Written by the server alone, at most every ten seconds.
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

-- Open questions for which silence would become consent: those an absence gives time back to.
CREATE INDEX suspensions_open_with_fallback ON suspensions (rid) WHERE resolution IS NULL AND fallback_policy <> 0;
