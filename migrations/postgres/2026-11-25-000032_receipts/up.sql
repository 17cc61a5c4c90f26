-- Receipts of decisions, at most one for each suspension. `event` is the row of the event that made the receipt, `statement` the signed
-- statement without its proof. `closed_at` is when the receipt was used or revoked, and `standing` says which: 0 neither, 1 used, 2 revoked.
CREATE TABLE receipts (
    suspension bigint PRIMARY KEY REFERENCES suspensions (rid),
    id uuid NOT NULL,
    event bigint NOT NULL,
    statement bytea NOT NULL,
    standing integer NOT NULL DEFAULT 0 CHECK (standing BETWEEN 0 AND 2),
    closed_by text,
    closed_at timestamptz,
    CHECK ((standing = 0) = (closed_at IS NULL) AND (standing = 0) = (closed_by IS NULL))
);
CREATE UNIQUE INDEX receipts_by_id ON receipts (id);
