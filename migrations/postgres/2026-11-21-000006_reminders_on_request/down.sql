ALTER TABLE suspensions DROP COLUMN reminded_at;
