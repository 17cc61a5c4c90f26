-- Portfolios: intents that belong together, under one name. `last_sequence` and `last_hash` are the end of the portfolio's own log.
CREATE TABLE portfolios (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    status integer NOT NULL,
    creator text NOT NULL,
    creator_owner text NOT NULL,
    claimed_creator json,
    name json NOT NULL,
    description json,
    metadata json NOT NULL,
    governance_policy json NOT NULL,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL,
    last_sequence bigint NOT NULL,
    last_hash bytea NOT NULL
);
CREATE INDEX portfolios_by_creator ON portfolios (creator, rid);

-- The log of each portfolio: how it began, and each change of its words, data, rules and status. The log of an intent says when
-- the intent was put into a portfolio or taken out.
CREATE TABLE portfolio_events (
    portfolio bigint NOT NULL REFERENCES portfolios (rid),
    sequence bigint NOT NULL,
    event_type text NOT NULL,
    created_at timestamptz NOT NULL,
    bytes bytea NOT NULL,
    hash bytea NOT NULL,
    PRIMARY KEY (portfolio, sequence)
);

-- The intents in a portfolio. `event` is the newest event that put the intent there or changed its role or priority.
CREATE TABLE portfolio_members (
    portfolio bigint NOT NULL REFERENCES portfolios (rid),
    intent bigint NOT NULL REFERENCES intents (rid),
    id uuid NOT NULL,
    role integer NOT NULL,
    priority integer NOT NULL,
    added_at timestamptz NOT NULL,
    event bigint NOT NULL,
    PRIMARY KEY (portfolio, intent)
);
CREATE INDEX portfolio_members_by_intent ON portfolio_members (intent, portfolio);
