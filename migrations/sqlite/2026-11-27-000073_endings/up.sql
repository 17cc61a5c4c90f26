-- Kind 6 is a stop that ends the work on an intent. As every other one for which an intent waits, there is one at a time. Both indexes hold
-- open suspensions alone, so they are made anew in little time; PostgreSQL takes no writes to the table meanwhile.
DROP INDEX suspensions_one_open;
CREATE UNIQUE INDEX suspensions_one_open ON suspensions (intent) WHERE resolution IS NULL AND (kind < 3 OR kind = 6);
DROP INDEX suspensions_stopped;
CREATE INDEX suspensions_stopped ON suspensions (rid) WHERE resolution IS NULL AND kind IN (1, 2, 6);
-- The credential of the person that has taken a pause over from the agent that made it.
ALTER TABLE stops ADD COLUMN holder TEXT;
ALTER TABLE stops ADD COLUMN holder_owner TEXT;
