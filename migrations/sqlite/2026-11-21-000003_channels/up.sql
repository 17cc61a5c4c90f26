-- Each channel has a queue of its own: what one endpoint leaves lying must not stand before another's messages.
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (channel, due_at) WHERE state = 0;

-- When a message was queued: what it says about itself is the same at every try.
ALTER TABLE outbox ADD COLUMN queued_at BIGINT NOT NULL DEFAULT 0;
