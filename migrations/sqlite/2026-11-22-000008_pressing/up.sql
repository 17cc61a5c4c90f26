-- When messages of one agent to one person left, as long as that counts: after a burst they keep a distance.
-- `pair` is a hash of the two.
CREATE TABLE departures (
    pair BIGINT NOT NULL,
    left_at BIGINT NOT NULL,
    outbox BIGINT NOT NULL REFERENCES outbox (rid),
    PRIMARY KEY (pair, left_at, outbox)
) WITHOUT ROWID;

-- The places (times) of messages that keep their distance: each message has its own, so that they are not all looked at together.
-- A row counts while its message is queued and due at that time.
CREATE TABLE places (
    pair BIGINT NOT NULL,
    leaves_at BIGINT NOT NULL,
    outbox BIGINT NOT NULL REFERENCES outbox (rid),
    PRIMARY KEY (pair, leaves_at, outbox)
) WITHOUT ROWID;

-- How often an intent asked without getting an answer. An entry is added when a question ends without a person's answer.
CREATE INDEX suspensions_unanswered ON suspensions (intent, resolved_at) WHERE resolution <> 0;
