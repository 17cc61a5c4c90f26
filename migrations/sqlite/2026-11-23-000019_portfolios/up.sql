-- Portfolios: intents that belong together, under one name. `last_sequence` and `last_hash` are the end of the portfolio's own log.
CREATE TABLE portfolios (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    status INTEGER NOT NULL,
    creator TEXT NOT NULL,
    creator_owner TEXT NOT NULL,
    claimed_creator TEXT,
    name TEXT NOT NULL,
    description TEXT,
    metadata TEXT NOT NULL,
    governance_policy TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    last_sequence BIGINT NOT NULL,
    last_hash BLOB NOT NULL
);
CREATE INDEX portfolios_by_creator ON portfolios (creator, rid);

-- The log of each portfolio: how it began, and each change of its words, data, rules and status. The log of an intent says when
-- the intent was put into a portfolio or taken out.
CREATE TABLE portfolio_events (
    portfolio BIGINT NOT NULL REFERENCES portfolios (rid),
    sequence BIGINT NOT NULL,
    event_type TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    bytes BLOB NOT NULL,
    hash BLOB NOT NULL,
    PRIMARY KEY (portfolio, sequence)
);

-- The intents in a portfolio. `event` is the newest event that put the intent there or changed its role or priority.
CREATE TABLE portfolio_members (
    portfolio BIGINT NOT NULL REFERENCES portfolios (rid),
    intent BIGINT NOT NULL REFERENCES intents (rid),
    id BLOB NOT NULL,
    role INTEGER NOT NULL,
    priority INTEGER NOT NULL,
    added_at BIGINT NOT NULL,
    event BIGINT NOT NULL,
    PRIMARY KEY (portfolio, intent)
) WITHOUT ROWID;
CREATE INDEX portfolio_members_by_intent ON portfolio_members (intent, portfolio);
