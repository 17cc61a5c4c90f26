-- When somebody last had the people in force reminded: reminders on request keep a distance, also over a restart.
ALTER TABLE suspensions ADD COLUMN reminded_at timestamptz;
