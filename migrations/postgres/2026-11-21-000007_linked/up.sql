-- Whether the newest try of a message carried an answer link: settings change, and what was sent does not. Absent before the first try
-- and where nobody kept it.
ALTER TABLE outbox ADD COLUMN linked boolean;
