ALTER TABLE suspensions DROP COLUMN ending_event;
