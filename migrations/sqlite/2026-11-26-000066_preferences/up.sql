-- The time zone and the locale of a person, and whether the configuration file says them, as JSON: see `Preferences`. NULL if nothing is known.
ALTER TABLE people ADD COLUMN preferences TEXT;
