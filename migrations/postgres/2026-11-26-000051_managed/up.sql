-- Whether the configuration file names the person or the group, so that a start without the name removes it.
ALTER TABLE people ADD COLUMN managed boolean NOT NULL DEFAULT false;
ALTER TABLE people_groups ADD COLUMN managed boolean NOT NULL DEFAULT false;
