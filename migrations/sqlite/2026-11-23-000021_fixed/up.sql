-- For finding the open questions whose deadline never moves. After the clock was set back, the server ends those with a fallback.
CREATE INDEX suspensions_fixed ON suspensions (rid) WHERE resolution IS NULL AND fixed_deadline;
