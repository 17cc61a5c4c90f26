-- Each channel has a queue of its own, so that the messages for an endpoint that does not take them do not hold up the messages
-- for another endpoint.
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (channel, due_at) WHERE state = 0;

-- For people who list the failed messages, newest first, or look up one of them. (Ids are UUIDv7, so they are in the order of
-- time.)
CREATE INDEX outbox_failed ON outbox (id) WHERE state = 2;

-- When a message was queued: the message states this time, and it is the same at every try.
ALTER TABLE outbox ADD COLUMN queued_at BIGINT NOT NULL DEFAULT 0;
