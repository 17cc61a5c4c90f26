-- Only a database without questions that wait for a quorum loses nothing.
DROP TABLE counted_answers;
ALTER TABLE suspensions DROP COLUMN quorum;
