-- An older version cannot read a stop of kind 6, so nothing goes back while work is being ended.
CREATE TEMP TABLE no_work_may_be_ending (open_endings BIGINT NOT NULL CHECK (open_endings = 0));
INSERT INTO no_work_may_be_ending SELECT count(*) FROM suspensions WHERE resolution IS NULL AND kind = 6;
DROP TABLE no_work_may_be_ending;
-- An agent could lift a pause again that a person has taken over.
ALTER TABLE stops DROP COLUMN holder;
ALTER TABLE stops DROP COLUMN holder_owner;
DROP INDEX suspensions_stopped;
CREATE INDEX suspensions_stopped ON suspensions (rid) WHERE resolution IS NULL AND kind BETWEEN 1 AND 2;
DROP INDEX suspensions_one_open;
CREATE UNIQUE INDEX suspensions_one_open ON suspensions (intent) WHERE resolution IS NULL AND kind < 3;
