-- The owner of an agent that has left paused work could let it go on again.
ALTER TABLE stops DROP COLUMN departed;
