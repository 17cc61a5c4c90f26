-- The client program that uses an agent's key, if the server makes allowances for that program.
ALTER TABLE api_keys ADD COLUMN client text;
-- Whether the deadline never moves, because the asker's client applies it by its own clock as well.
ALTER TABLE suspensions ADD COLUMN fixed_deadline boolean NOT NULL DEFAULT FALSE;
-- The intents whose agent has set the status to suspended_awaiting_input and has not sent its question yet. `from_status` is the status
-- before.
CREATE TABLE announcements (
    intent bigint NOT NULL PRIMARY KEY REFERENCES intents (rid),
    id uuid NOT NULL,
    from_status integer NOT NULL,
    announced_at timestamptz NOT NULL,
    asker text NOT NULL,
    asker_owner text NOT NULL
);
CREATE INDEX announcements_oldest ON announcements (announced_at);
-- The ids that clients gave their questions. An id is unique within its intent, and never used again there.
CREATE TABLE client_ids (
    intent bigint NOT NULL REFERENCES intents (rid),
    client_id text NOT NULL,
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    PRIMARY KEY (intent, client_id)
);
