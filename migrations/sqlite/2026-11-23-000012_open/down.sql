DROP INDEX suspensions_open;
CREATE INDEX suspensions_open ON suspensions (rid) WHERE resolution IS NULL;
CREATE INDEX suspensions_open_with_fallback ON suspensions (rid) WHERE resolution IS NULL AND fallback_policy <> 0;
