-- In whose hands an open question is, as JSON: the claim, the new assignees, and the places that were handed on. NULL if nothing of this
-- happened, and once the question has ended.
ALTER TABLE suspensions ADD COLUMN hands json;
