-- Each channel has a queue of its own: the messages that one endpoint does not take must not stand
-- before the messages of another.
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (channel, due_at) WHERE state = 0;

-- People look at failed messages: newest first, and one at a time. (Ids are UUIDv7, so they are in the order of time.)
CREATE INDEX outbox_failed ON outbox (id) WHERE state = 2;

-- When a message was queued: the message states this time, and it is the same at every try.
ALTER TABLE outbox ADD COLUMN queued_at timestamptz NOT NULL DEFAULT to_timestamp(0);
