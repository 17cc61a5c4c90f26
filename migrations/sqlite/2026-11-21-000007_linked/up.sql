-- Whether the newest try of a message carried an answer link: settings change, and a message that was sent does not. Absent
-- before the first try, and for messages older than this column.
ALTER TABLE outbox ADD COLUMN linked BOOLEAN;
