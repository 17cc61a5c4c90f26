-- The agents that have access to an intent which another agent created. An entry counts until `expires_at`; `event` is the event
-- that gave the access.
CREATE TABLE access_entries (
    intent BIGINT NOT NULL REFERENCES intents (rid),
    principal_id TEXT NOT NULL,
    id BLOB NOT NULL,
    permission INTEGER NOT NULL,
    expires_at BIGINT,
    event BIGINT NOT NULL,
    PRIMARY KEY (intent, principal_id)
) WITHOUT ROWID;
CREATE INDEX access_entries_by_principal ON access_entries (principal_id, intent);

-- Requests for access that no person has decided. `event` is the request's own event.
CREATE TABLE access_requests (
    intent BIGINT NOT NULL REFERENCES intents (rid),
    id BLOB NOT NULL,
    principal_id TEXT NOT NULL,
    requester TEXT NOT NULL,
    requester_owner TEXT NOT NULL,
    permission INTEGER NOT NULL,
    event BIGINT NOT NULL,
    PRIMARY KEY (intent, id)
) WITHOUT ROWID;
CREATE INDEX access_requests_by_requester ON access_requests (requester);
