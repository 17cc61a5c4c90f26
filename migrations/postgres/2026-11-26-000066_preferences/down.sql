-- Only a database without time zones and locales of people loses nothing.
ALTER TABLE people DROP COLUMN preferences;
