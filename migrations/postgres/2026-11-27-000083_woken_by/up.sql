-- The message that let a parked intent go on, as a hash of its key and of the time at which it came, so that a repeated message answers how many it has woken. Only stops of
-- messages that count once have it, so the index is small.
ALTER TABLE stops ADD COLUMN woken_by bytea;
CREATE INDEX stops_woken ON stops (woken_by) WHERE woken_by IS NOT NULL;
