ALTER TABLE tokens DROP COLUMN delivery;
