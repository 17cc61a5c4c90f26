DROP INDEX suspensions_requests;
DROP INDEX suspensions_beside;
DROP INDEX suspensions_one_open;
CREATE UNIQUE INDEX suspensions_one_open ON suspensions (intent) WHERE resolution IS NULL;
