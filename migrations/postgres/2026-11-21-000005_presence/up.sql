-- The presence of the servers on this database, in one row: the last sign of life of any of them, whether they wait for an
-- operator after a restore, and the absence for which open questions are being given more time. `version` goes up with every
-- change, so that two servers never give more time for the same absence.
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

-- Open questions with a fallback, for which silence may count as consent. They get more time after an absence of the servers.
CREATE INDEX suspensions_open_with_fallback ON suspensions (rid) WHERE resolution IS NULL AND fallback_policy <> 0;
