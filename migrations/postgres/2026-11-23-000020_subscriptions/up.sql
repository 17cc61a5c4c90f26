-- Subscriptions: endpoints that are told of the events of an intent. The messages are not stored: the log itself is their queue.
-- `sequence` is the last event in the log that was dealt with. `missed` is the number of events that the next message reports as
-- missed. The next message is not sent before `due_at`; while `lease` is set, one server is sending it.
CREATE TABLE subscriptions (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    intent bigint NOT NULL REFERENCES intents (rid),
    creator text NOT NULL,
    creator_owner text NOT NULL,
    key_id uuid NOT NULL,
    claimed_subscriber json,
    event_types json NOT NULL,
    webhook_url text NOT NULL,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    sequence bigint NOT NULL,
    missed bigint NOT NULL,
    tries integer NOT NULL,
    due_at timestamptz NOT NULL,
    lease bytea
);
CREATE INDEX subscriptions_by_intent ON subscriptions (intent, rid);
CREATE INDEX subscriptions_by_creator ON subscriptions (creator, rid);
CREATE INDEX subscriptions_by_expiry ON subscriptions (expires_at);
CREATE INDEX subscriptions_by_due ON subscriptions (due_at);
