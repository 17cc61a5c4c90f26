-- The tasks of intents. `facts` has all that decisions need, `body` the words and data. `due_at` is the time at which an agent that
-- gives no sign of life loses the task; it is null while no agent holds the task.
CREATE TABLE tasks (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    intent BIGINT NOT NULL REFERENCES intents (rid),
    status INTEGER NOT NULL,
    facts TEXT NOT NULL,
    body TEXT NOT NULL,
    due_at BIGINT
);
CREATE INDEX tasks_by_intent ON tasks (intent, status);
CREATE INDEX tasks_by_due_at ON tasks (due_at) WHERE due_at IS NOT NULL;

-- The plans of intents. `facts` has all that decisions need, `body` the data of the creator.
CREATE TABLE plans (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    intent BIGINT NOT NULL REFERENCES intents (rid),
    state INTEGER NOT NULL,
    facts TEXT NOT NULL,
    body TEXT NOT NULL
);
CREATE INDEX plans_by_intent ON plans (intent, state);

-- Whether an intent ever had a task or a plan. Only then does a write to the intent look for them.
ALTER TABLE intents ADD COLUMN has_tasks BOOLEAN NOT NULL DEFAULT 0;
