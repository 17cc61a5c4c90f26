-- The events that streams carry, as a list of their own, so that a stream finds new ones without reading the others.
--
-- Row ids are drawn in blocks and transactions commit in any order, so `position` orders the rows: it is the number of the
-- transaction. Below the oldest transaction that still runs no further row can appear. Numbers begin anew in another cluster, so
-- an offset is added, which a start raises if the database holds higher positions (after a restore or a move).
CREATE SEQUENCE published_offset MINVALUE 0 START 0;
CREATE FUNCTION published_position() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT pg_current_xact_id()::text::bigint + last_value FROM published_offset';
CREATE TABLE published (
    rid bigint PRIMARY KEY,
    intent bigint NOT NULL REFERENCES intents (rid),
    position bigint NOT NULL DEFAULT published_position()
);
CREATE INDEX published_by_position ON published (position, rid);
CREATE INDEX published_by_intent ON published (intent, position, rid);
