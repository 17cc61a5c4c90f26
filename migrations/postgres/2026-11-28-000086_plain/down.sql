ALTER TABLE inbox DROP COLUMN is_plain;
