-- Each channel has a queue of its own: what one endpoint leaves lying must not stand before another's messages.
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (channel, due_at) WHERE state = 0;

-- What has failed is looked at by people: newest first, and one at a time. (Ids are UUIDv7, so they are in the order of time.)
CREATE INDEX outbox_failed ON outbox (id) WHERE state = 2;

-- When a message was queued: what it says about itself is the same at every try.
ALTER TABLE outbox ADD COLUMN queued_at timestamptz NOT NULL DEFAULT to_timestamp(0);
