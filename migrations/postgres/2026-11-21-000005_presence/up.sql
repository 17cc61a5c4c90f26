-- The presence of the servers on this database, in one row: when one of them was last there, whether they wait after a
-- restore, and the absence that is being made good. `version` goes up with every change, so that two servers never make good
-- for the same absence twice.
CREATE TABLE presence (
    rid integer PRIMARY KEY CHECK (rid = 1),
    version bigint NOT NULL,
    beat_at timestamptz NOT NULL,
    held_since timestamptz,
    released boolean NOT NULL,
    tokens_void_to bigint NOT NULL,
    absent_from timestamptz,
    absent_until timestamptz,
    restored boolean NOT NULL,
    done_to bigint NOT NULL,
    up_to bigint NOT NULL
);

-- Open questions for which silence would become consent: an absence gives time back to these.
CREATE INDEX suspensions_open_with_fallback ON suspensions (rid) WHERE resolution IS NULL AND fallback_policy <> 0;
