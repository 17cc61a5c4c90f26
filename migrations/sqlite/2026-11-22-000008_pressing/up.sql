-- When messages of one agent to one person left, as far as that counts: after a burst they keep a distance. `pair` is a hash of the two.
CREATE TABLE departures (
    pair BIGINT NOT NULL,
    left_at BIGINT NOT NULL,
    outbox BIGINT NOT NULL REFERENCES outbox (rid),
    PRIMARY KEY (pair, left_at, outbox)
) WITHOUT ROWID;

-- How often an intent took questions back, to ask anew. Written when one is withdrawn or superseded, and at no other time.
CREATE INDEX suspensions_taken_back ON suspensions (intent, resolved_at) WHERE resolution = 2;
