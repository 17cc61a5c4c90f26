-- The events that streams carry, as a list of their own, so that a stream finds new ones without reading the others.
CREATE TABLE published (
    rid INTEGER PRIMARY KEY,
    intent BIGINT NOT NULL REFERENCES intents (rid)
);
CREATE INDEX published_by_intent ON published (intent);
