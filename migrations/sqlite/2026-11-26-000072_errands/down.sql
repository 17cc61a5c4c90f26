DROP TABLE errands;
ALTER TABLE intents DROP COLUMN is_errand;
