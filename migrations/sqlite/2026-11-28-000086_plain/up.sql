-- Whether a question waits for each person at a place, so that a list need not look at the question itself. Rows from before, and those of
-- programs of an earlier version, do not say so: a list looks at their questions.
ALTER TABLE inbox ADD COLUMN is_plain BOOLEAN NOT NULL DEFAULT 0;
