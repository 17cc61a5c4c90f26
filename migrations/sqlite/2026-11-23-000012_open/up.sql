-- One index of the open questions instead of two: an answer changes one page less, wherever its question stands in the order of
-- asking. A search for questions with a fallback reads the policies from the index and passes over the others. The resolution is
-- in the index only because SQLite would otherwise read it from the table.
DROP INDEX suspensions_open_with_fallback;
DROP INDEX suspensions_open;
CREATE INDEX suspensions_open ON suspensions (rid, fallback_policy, resolution) WHERE resolution IS NULL;
