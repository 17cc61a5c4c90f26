-- The repetition of failed work, one row per intent whose retry policy has taken effect. `due_at` is the time of the next step; it is NULL
-- while there is none, or while the intent is suspended or blocked.
CREATE TABLE retries (
    intent BIGINT PRIMARY KEY NOT NULL REFERENCES intents (rid),
    facts TEXT NOT NULL,
    due_at BIGINT
) WITHOUT ROWID;
CREATE INDEX retries_by_due_at ON retries (due_at) WHERE due_at IS NOT NULL;
