-- Only a database without people who are out of office loses nothing.
ALTER TABLE people DROP COLUMN absence;
