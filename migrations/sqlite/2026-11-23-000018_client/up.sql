-- The client program that uses an agent's key, if the server makes allowances for that program.
ALTER TABLE api_keys ADD COLUMN client TEXT;
-- Whether the deadline never moves, because the asker's client applies it by its own clock as well.
ALTER TABLE suspensions ADD COLUMN fixed_deadline BOOLEAN NOT NULL DEFAULT FALSE;
-- The intents whose agent has set the status to suspended_awaiting_input and has not sent its question yet. `from_status` is the status
-- before.
CREATE TABLE announcements (
    intent BIGINT NOT NULL PRIMARY KEY REFERENCES intents (rid),
    id BLOB NOT NULL,
    from_status INTEGER NOT NULL,
    announced_at BIGINT NOT NULL,
    asker TEXT NOT NULL,
    asker_owner TEXT NOT NULL
);
CREATE INDEX announcements_oldest ON announcements (announced_at);
-- The ids that clients gave their questions. An id is unique within its intent, and never used again there.
CREATE TABLE client_ids (
    intent BIGINT NOT NULL REFERENCES intents (rid),
    client_id TEXT NOT NULL,
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    PRIMARY KEY (intent, client_id)
) WITHOUT ROWID;
