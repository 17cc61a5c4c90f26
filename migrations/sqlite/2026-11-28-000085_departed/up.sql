-- The keys of the agents that have left paused work, with their owners: none of them lets it go on. A list of names, with as many members as there are keys at most.
ALTER TABLE stops ADD COLUMN departed TEXT;
