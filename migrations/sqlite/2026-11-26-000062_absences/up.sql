-- When a person is out of office, and the id of the deputy, as JSON: see `Absence`. NULL for a person who has not said so.
ALTER TABLE people ADD COLUMN absence TEXT;
