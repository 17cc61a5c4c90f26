-- The tasks of intents. `facts` has all that decisions need, `body` the words and data. `due_at` is the time at which an agent that
-- gives no sign of life loses the task; it is null while no agent holds the task.
CREATE TABLE tasks (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    intent bigint NOT NULL REFERENCES intents (rid),
    status integer NOT NULL,
    facts json NOT NULL,
    body json NOT NULL,
    due_at timestamptz
);
CREATE INDEX tasks_by_intent ON tasks (intent, status);
CREATE INDEX tasks_by_due_at ON tasks (due_at) WHERE due_at IS NOT NULL;

-- The plans of intents. `facts` has all that decisions need, `body` the data of the creator.
CREATE TABLE plans (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    intent bigint NOT NULL REFERENCES intents (rid),
    state integer NOT NULL,
    facts json NOT NULL,
    body json NOT NULL
);
CREATE INDEX plans_by_intent ON plans (intent, state);

-- Whether an intent ever had a task or a plan. Only then does a write to the intent look for them.
ALTER TABLE intents ADD COLUMN has_tasks boolean NOT NULL DEFAULT false;
