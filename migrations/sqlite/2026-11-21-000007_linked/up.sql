-- Whether the newest try of a message carried an answer link. The settings of its channel do not tell, because they may have
-- changed since. Absent before the first try, and for messages older than this column.
ALTER TABLE outbox ADD COLUMN linked BOOLEAN;
