-- The keys of questions are lost; the events that asked them keep them.
DROP INDEX suspensions_decided;
ALTER TABLE suspensions DROP COLUMN question_key;
