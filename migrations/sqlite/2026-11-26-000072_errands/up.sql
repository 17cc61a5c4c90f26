-- Errands are intents that exist for one question, of callers that have no intent of their own: such an intent ends with its question.
ALTER TABLE intents ADD COLUMN is_errand BOOLEAN NOT NULL DEFAULT 0;

-- One row for each errand, by which its asker lists them, the one that changed last first.
CREATE TABLE errands (
    intent BIGINT NOT NULL PRIMARY KEY REFERENCES intents (rid),
    asker TEXT NOT NULL,
    context_id TEXT NOT NULL,
    fate INTEGER NOT NULL,
    changed_at BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX errands_by_asker ON errands (asker, changed_at, intent);
CREATE INDEX errands_by_context ON errands (context_id, changed_at, intent);
CREATE INDEX errands_by_time ON errands (changed_at, intent);
