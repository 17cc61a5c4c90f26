ALTER TABLE log_keys DROP COLUMN signature;
