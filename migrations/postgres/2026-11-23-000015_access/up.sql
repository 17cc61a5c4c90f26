-- The agents that have access to an intent which another agent created. An entry counts until `expires_at`; `event` is the event
-- that gave the access.
CREATE TABLE access_entries (
    intent bigint NOT NULL REFERENCES intents (rid),
    principal_id text NOT NULL,
    id uuid NOT NULL,
    permission integer NOT NULL,
    expires_at timestamptz,
    event bigint NOT NULL,
    PRIMARY KEY (intent, principal_id)
);
CREATE INDEX access_entries_by_principal ON access_entries (principal_id, intent);

-- Requests for access that no person has decided. `event` is the request's own event.
CREATE TABLE access_requests (
    intent bigint NOT NULL REFERENCES intents (rid),
    id uuid NOT NULL,
    principal_id text NOT NULL,
    requester text NOT NULL,
    requester_owner text NOT NULL,
    permission integer NOT NULL,
    event bigint NOT NULL,
    PRIMARY KEY (intent, id)
);
CREATE INDEX access_requests_by_requester ON access_requests (requester);
