DROP TABLE bounces;
ALTER TABLE outbox DROP COLUMN settled_at;
ALTER TABLE outbox DROP COLUMN detail;
ALTER TABLE outbox DROP COLUMN sequence;
