-- How far the agent of a paused intent has stopped: 0 requested, 1 quiescing, 2 suspended. A stop is a suspension that waits for no
-- answer; its other facts are in the row of the suspension and in the events that began and ended it.
CREATE TABLE stops (
    suspension bigint PRIMARY KEY REFERENCES suspensions (rid),
    stage integer NOT NULL
);
-- For the count of the open stops, which are no questions that wait for an answer.
CREATE INDEX suspensions_stopped ON suspensions (rid) WHERE resolution IS NULL AND kind BETWEEN 1 AND 2;
