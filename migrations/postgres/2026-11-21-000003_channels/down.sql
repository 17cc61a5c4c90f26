ALTER TABLE outbox DROP COLUMN queued_at;
DROP INDEX outbox_failed;
DROP INDEX outbox_due;
CREATE INDEX outbox_due ON outbox (due_at) WHERE state = 0;
