-- The leases of coordinators. `facts` has all that decisions need, `body` the data of the agent. `due_at` is the time at which the server
-- looks at a lease that has not ended. The newest lease of an intent is the one that counts.
CREATE TABLE coordinators (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    intent bigint NOT NULL REFERENCES intents (rid),
    facts json NOT NULL,
    body json NOT NULL,
    due_at timestamptz
);
CREATE INDEX coordinators_by_intent ON coordinators (intent, rid);
CREATE INDEX coordinators_by_due_at ON coordinators (due_at) WHERE due_at IS NOT NULL;
