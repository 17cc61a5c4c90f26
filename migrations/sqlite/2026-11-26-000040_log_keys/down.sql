ALTER TABLE witnesses DROP COLUMN mailed_at;
ALTER TABLE log_keys DROP COLUMN signature;
