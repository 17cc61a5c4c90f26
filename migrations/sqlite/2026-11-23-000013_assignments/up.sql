-- The agents that work on an intent beside its creator: each may read it and write to it. `event` is the event that assigned the
-- agent.
CREATE TABLE assignments (
    intent BIGINT NOT NULL REFERENCES intents (rid),
    agent_id TEXT NOT NULL,
    event BIGINT NOT NULL,
    PRIMARY KEY (intent, agent_id)
) WITHOUT ROWID;
CREATE INDEX assignments_by_agent ON assignments (agent_id, intent);
