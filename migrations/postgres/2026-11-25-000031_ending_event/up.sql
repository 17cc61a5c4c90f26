-- The event that ended the suspension, whose payload holds what the columns of the ending do not. NULL while the suspension is open, and
-- if it ended before this column.
ALTER TABLE suspensions ADD COLUMN ending_event BIGINT;
