-- What a message looks like from outside: its place among the messages about its question, the other side's last word, and when it
-- came to its end. Rows are never deleted, so counting those before gives each row that is there its place.
ALTER TABLE outbox ADD COLUMN sequence INTEGER NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN detail TEXT;
ALTER TABLE outbox ADD COLUMN settled_at BIGINT;
UPDATE outbox SET sequence =
    (SELECT count(*) FROM outbox AS earlier WHERE earlier.suspension = outbox.suspension AND earlier.rid <= outbox.rid);

-- Reports that a message came back, apart from the messages: they are rare, and the messages' pages are not.
CREATE TABLE bounces (
    outbox INTEGER PRIMARY KEY NOT NULL REFERENCES outbox (rid),
    hard BOOLEAN NOT NULL,
    reported_at BIGINT NOT NULL,
    detail TEXT
);
