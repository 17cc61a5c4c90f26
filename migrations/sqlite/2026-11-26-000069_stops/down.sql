-- An older version knows no stops: an intent that is paused or parked would stay blocked for ever. So nothing goes back while one is.
CREATE TEMP TABLE no_intent_may_be_stopped (open_stops BIGINT NOT NULL CHECK (open_stops = 0));
INSERT INTO no_intent_may_be_stopped SELECT count(*) FROM suspensions WHERE resolution IS NULL AND kind BETWEEN 1 AND 2;
DROP TABLE no_intent_may_be_stopped;
DROP INDEX suspensions_stopped;
DROP TABLE stops;
