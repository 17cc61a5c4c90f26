-- The events that streams carry, as a list of their own, so that a stream finds new ones without reading the others.
--
-- Row ids are drawn in blocks and transactions commit in any order, so the rows are ordered by `position`: the number of the
-- transaction that wrote the row, plus an offset. No row is added any more below the position of the oldest transaction that
-- still runs. Each cluster counts its transactions from the beginning. So if rows came from another cluster (by a restore or a
-- move) and have higher positions than new rows would get, a server raises the offset when it starts.
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
