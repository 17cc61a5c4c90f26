ALTER TABLE intents DROP COLUMN is_grouped;
