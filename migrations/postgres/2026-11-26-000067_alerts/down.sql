DROP TABLE alerts;
ALTER TABLE inbox DROP COLUMN keeps_owner;
