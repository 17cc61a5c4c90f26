-- Which intent needs which: its dependencies (kind 0) and its children (kind 1). `is_met` is true once the intent has learned that a
-- dependency is completed; for a child it is always false.
CREATE TABLE graph_edges (
    intent bigint NOT NULL REFERENCES intents (rid),
    kind integer NOT NULL,
    needs bigint NOT NULL REFERENCES intents (rid),
    is_met boolean NOT NULL,
    PRIMARY KEY (intent, kind, needs)
);
CREATE INDEX graph_edges_by_needs ON graph_edges (needs, kind, is_met, intent);
INSERT INTO graph_edges (intent, kind, needs, is_met)
SELECT parents.rid, 1, intent_bodies.rid, false FROM intent_bodies JOIN intents AS parents ON parents.id = intent_bodies.parent;

-- Completed intents of which some dependents have not learned yet.
CREATE TABLE completions (
    intent bigint PRIMARY KEY REFERENCES intents (rid)
);

-- How many dependencies of an intent are not met, and whether an agent has blocked the intent by setting its status. Before this
-- migration only agents could block intents, so each intent that is blocked by now (status 2) was blocked by an agent.
ALTER TABLE intents ADD COLUMN unmet integer NOT NULL DEFAULT 0;
ALTER TABLE intents ADD COLUMN is_held boolean NOT NULL DEFAULT false;
UPDATE intents SET is_held = true WHERE status = 2;
