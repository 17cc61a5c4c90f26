ALTER TABLE intents DROP COLUMN has_tasks;
DROP TABLE plans;
DROP TABLE tasks;
