-- The signature of the key before under the statement that this key signs after it, in base64; NULL for the first key.
ALTER TABLE log_keys ADD COLUMN signature text;
-- When the newest checkpoint was mailed; NULL for a witness.
ALTER TABLE witnesses ADD COLUMN mailed_at timestamptz;
