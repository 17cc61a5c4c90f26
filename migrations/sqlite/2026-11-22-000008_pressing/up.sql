-- The times at which messages of one agent to one person left. After a burst (a few that leave at once), a message leaves only
-- some time after the one before it, so these times are kept while they count. `pair` is a hash of the agent and the person.
CREATE TABLE departures (
    pair BIGINT NOT NULL,
    left_at BIGINT NOT NULL,
    outbox BIGINT NOT NULL REFERENCES outbox (rid),
    PRIMARY KEY (pair, left_at, outbox)
) WITHOUT ROWID;

-- The times reserved for messages that may not leave yet (their places). Each message has a time of its own, so that they do not
-- all come due together. A row counts while its message is queued and due at that time.
CREATE TABLE places (
    pair BIGINT NOT NULL,
    leaves_at BIGINT NOT NULL,
    outbox BIGINT NOT NULL REFERENCES outbox (rid),
    PRIMARY KEY (pair, leaves_at, outbox)
) WITHOUT ROWID;

-- For counting how often an intent asked without getting an answer. An entry is added when a question ends without a person's
-- answer.
CREATE INDEX suspensions_unanswered ON suspensions (intent, resolved_at) WHERE resolution <> 0;
