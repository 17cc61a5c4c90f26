-- Only a database without questions that were claimed, handed on or reassigned loses nothing.
ALTER TABLE suspensions DROP COLUMN hands;
