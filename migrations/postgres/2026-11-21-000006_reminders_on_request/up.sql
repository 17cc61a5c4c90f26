-- When the people in force were last reminded on request: those reminders keep a distance, also over a restart.
ALTER TABLE suspensions ADD COLUMN reminded_at timestamptz;
