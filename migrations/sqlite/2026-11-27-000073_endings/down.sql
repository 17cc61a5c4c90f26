-- An older version cannot read a stop of kind 6.
DROP INDEX suspensions_stopped;
CREATE INDEX suspensions_stopped ON suspensions (rid) WHERE resolution IS NULL AND kind BETWEEN 1 AND 2;
DROP INDEX suspensions_one_open;
CREATE UNIQUE INDEX suspensions_one_open ON suspensions (intent) WHERE resolution IS NULL AND kind < 3;
