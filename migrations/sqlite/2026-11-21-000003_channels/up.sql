-- Each channel has a queue of its own: what one endpoint leaves lying must not stand before another's messages.
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (channel, due_at) WHERE state = 0;

-- What a message says about itself, the same at every try: the event that queued it, by its place in the intent's log, and when.
ALTER TABLE outbox ADD COLUMN sequence BIGINT NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN queued_at BIGINT NOT NULL DEFAULT 0;
