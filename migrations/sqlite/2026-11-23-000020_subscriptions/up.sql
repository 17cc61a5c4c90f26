-- Subscriptions: endpoints that are told of the events of an intent. The messages are not stored: the log itself is their queue.
-- `sequence` is the last event in the log that was dealt with. `missed` is the number of events that the next message reports as
-- missed. The next message is not sent before `due_at`; while `lease` is set, one server is sending it.
CREATE TABLE subscriptions (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    intent BIGINT NOT NULL REFERENCES intents (rid),
    creator TEXT NOT NULL,
    creator_owner TEXT NOT NULL,
    key_id BLOB NOT NULL,
    claimed_subscriber TEXT,
    event_types TEXT NOT NULL,
    webhook_url TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    sequence BIGINT NOT NULL,
    missed BIGINT NOT NULL,
    tries INTEGER NOT NULL,
    due_at BIGINT NOT NULL,
    lease BLOB
);
CREATE INDEX subscriptions_by_intent ON subscriptions (intent, rid);
CREATE INDEX subscriptions_by_creator ON subscriptions (creator, rid);
CREATE INDEX subscriptions_by_expiry ON subscriptions (expires_at);
CREATE INDEX subscriptions_by_due ON subscriptions (due_at);
