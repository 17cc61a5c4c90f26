-- The open questions whose deadline never moves: they end when the clock is set back.
CREATE INDEX suspensions_fixed ON suspensions (rid) WHERE resolution IS NULL AND fixed_deadline;
