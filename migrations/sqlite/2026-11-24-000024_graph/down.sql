ALTER TABLE intents DROP COLUMN is_held;
ALTER TABLE intents DROP COLUMN unmet;
DROP TABLE completions;
DROP TABLE graph_edges;
