-- Only a database without open questions that have a schema loses nothing.
ALTER TABLE suspensions DROP COLUMN form;
