-- A repeated message would answer that it has woken no intent.
DROP INDEX stops_woken;
ALTER TABLE stops DROP COLUMN woken_by;
