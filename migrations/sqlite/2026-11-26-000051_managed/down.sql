ALTER TABLE people_groups DROP COLUMN managed;
ALTER TABLE people DROP COLUMN managed;
