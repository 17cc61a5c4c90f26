-- When people were last reminded on request. The next request is refused if it comes too soon after that, also after a restart.
ALTER TABLE suspensions ADD COLUMN reminded_at timestamptz;
