-- The agents that work on an intent beside its creator: each may read it and write to it. `event` is the event that assigned the
-- agent.
CREATE TABLE assignments (
    intent bigint NOT NULL REFERENCES intents (rid),
    agent_id text NOT NULL,
    event bigint NOT NULL,
    PRIMARY KEY (intent, agent_id)
);
CREATE INDEX assignments_by_agent ON assignments (agent_id, intent);
