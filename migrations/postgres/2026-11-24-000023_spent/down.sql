ALTER TABLE intent_bodies DROP COLUMN spent;
