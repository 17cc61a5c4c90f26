-- A request to people is a row here as well, although it does not suspend its intent. Several requests may be open, beside the
-- one question that the intent waits for. Their kinds are 3 and above.
DROP INDEX suspensions_one_open;
CREATE UNIQUE INDEX suspensions_one_open ON suspensions (intent) WHERE resolution IS NULL AND kind < 3;
CREATE INDEX suspensions_beside ON suspensions (intent, kind, rid) WHERE kind > 2;
CREATE INDEX suspensions_requests ON suspensions (kind, rid) WHERE kind > 2;
