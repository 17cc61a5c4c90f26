-- How a message looks from outside: its place among the messages about its question, the last reply of the other side, and when
-- the message ended. Rows are never deleted, so counting the earlier rows gives each existing row its place.
ALTER TABLE outbox ADD COLUMN sequence integer NOT NULL DEFAULT 0;
ALTER TABLE outbox ADD COLUMN detail json;
ALTER TABLE outbox ADD COLUMN settled_at timestamptz;
UPDATE outbox SET sequence =
    (SELECT count(*) FROM outbox AS earlier WHERE earlier.suspension = outbox.suspension AND earlier.rid <= outbox.rid);

-- Reports that a message came back. They are rare, so they stand apart from the messages.
CREATE TABLE bounces (
    outbox bigint PRIMARY KEY REFERENCES outbox (rid),
    hard boolean NOT NULL,
    reported_at timestamptz NOT NULL,
    detail json
);
