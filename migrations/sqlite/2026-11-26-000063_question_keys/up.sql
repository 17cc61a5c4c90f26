-- The asker's own name for questions of this kind; NULL for a question without one.
ALTER TABLE suspensions ADD COLUMN question_key TEXT;
-- For the newest decisions about questions with the same key of the same asker. A question that people did not decide, because it was
-- withdrawn or reached no person, is none of them. A question without a key has no entry here, whatever becomes of it.
CREATE INDEX suspensions_decided ON suspensions (asker, question_key, resolved_at, rid)
WHERE question_key IS NOT NULL AND (resolution < 2 OR resolution_reason = 5);
