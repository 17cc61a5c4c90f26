-- The Merkle tree over all events. `docs/log-format.md` defines leaves, nodes and checkpoints.
--
-- Events get their leaves after they are committed, in batches, so that a decision does not wait for the tree. One row says how far
-- the tree reaches: `size` is the number of leaves, `latest_at` the latest time of their events. A server locks the row before it adds leaves or signs, so several servers make one
-- tree. `events` is used by SQLite alone.
CREATE TABLE tree (
    rid bigint PRIMARY KEY,
    size bigint NOT NULL,
    events bigint NOT NULL,
    signed_size bigint NOT NULL,
    latest_at timestamptz
);

-- The events that have no leaf yet. Row ids of events are drawn in blocks and transactions commit in any order, so no row id says up to
-- which event all have leaves. `source` says which table: 1 events, 2 portfolio_events, 3 server_events. `subject` is the portfolio, and
-- 0 for others; `number` is the row id of an event, or its number in the log of the portfolio or the server.
CREATE TABLE unplaced (
    source integer NOT NULL,
    subject bigint NOT NULL,
    number bigint NOT NULL,
    PRIMARY KEY (source, subject, number)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
-- The rules also hold for servers of the previous release that still run. COPY does not follow them; only `placet migrate` uses COPY, and it
-- fills this table itself.
CREATE RULE events_unplaced AS ON INSERT TO events DO ALSO INSERT INTO unplaced VALUES (1, 0, NEW.rid);
CREATE RULE portfolio_events_unplaced AS ON INSERT TO portfolio_events DO ALSO INSERT INTO unplaced VALUES (2, NEW.portfolio, NEW.sequence);
CREATE RULE server_events_unplaced AS ON INSERT TO server_events DO ALSO INSERT INTO unplaced VALUES (3, 0, NEW.sequence);
INSERT INTO unplaced SELECT 1, 0, rid FROM events;
INSERT INTO unplaced SELECT 2, portfolio, sequence FROM portfolio_events;
INSERT INTO unplaced SELECT 3, 0, sequence FROM server_events;

-- The hashes of the tree, 256 to a tile. Tile 0 of level 0 has the hashes of the first 256 leaves, tile 0 of level 1 the roots of the first
-- 256 tiles of level 0, and so on. The last tile of a level may have fewer.
CREATE TABLE tree_tiles (
    level integer NOT NULL,
    number bigint NOT NULL,
    hashes bytea NOT NULL,
    PRIMARY KEY (level, number)
);
-- Hashes cannot be compressed.
ALTER TABLE tree_tiles ALTER COLUMN hashes SET STORAGE EXTERNAL;

-- Which events the leaves belong to: `length` leaves from `first_leaf` on belong to as many events, numbered from `number` on.
CREATE TABLE tree_runs (
    first_leaf bigint PRIMARY KEY,
    source integer NOT NULL,
    subject bigint NOT NULL,
    number bigint NOT NULL,
    length bigint NOT NULL
);
CREATE UNIQUE INDEX tree_runs_by_event ON tree_runs (source, subject, number);

-- The signed sizes of the tree. Two checkpoints never have one size.
CREATE TABLE checkpoints (
    size bigint PRIMARY KEY,
    root bytea NOT NULL,
    note text NOT NULL,
    created_at timestamptz NOT NULL
);

-- The keys that sign checkpoints; the last one is in force. `sealed` is the secret half, encrypted under a key in a file outside the
-- database; NULL if the operator keeps the secret half.
CREATE TABLE log_keys (
    rid bigint PRIMARY KEY,
    name text NOT NULL,
    public bytea NOT NULL,
    sealed bytea,
    created_at timestamptz NOT NULL
);
