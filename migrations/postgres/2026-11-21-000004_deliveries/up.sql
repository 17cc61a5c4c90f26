-- What a message looks like from outside: its place among the messages about its question, the other side's last word, and when it
-- came to its end. Rows are never deleted, so counting those before gives each row that is there its place.
ALTER TABLE outbox ADD COLUMN sequence integer NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN detail json;
ALTER TABLE outbox ADD COLUMN settled_at timestamptz;
UPDATE outbox SET sequence =
    (SELECT count(*) FROM outbox AS earlier WHERE earlier.suspension = outbox.suspension AND earlier.rid <= outbox.rid);

-- Reports that a message came back, apart from the messages: they are rare, and the messages' pages are not.
CREATE TABLE bounces (
    outbox bigint PRIMARY KEY REFERENCES outbox (rid),
    hard boolean NOT NULL,
    reported_at timestamptz NOT NULL,
    detail json
);
