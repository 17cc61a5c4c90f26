-- The sum of the costs of an intent whose policy limits it; absent until it is needed.
ALTER TABLE intent_bodies ADD COLUMN spent DOUBLE;
