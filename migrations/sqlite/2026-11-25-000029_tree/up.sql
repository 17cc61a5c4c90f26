-- The Merkle tree over all events. `docs/log-format.md` defines leaves, nodes and checkpoints.
--
-- Events get their leaves after they are committed, in batches, so that a decision does not wait for the tree. One row says how far
-- the tree reaches: `size` is the number of leaves, `latest_at` the latest time of their events. The writer gives row ids in the order of commits, so events up to row id `events`
-- have leaves and the others have none.
CREATE TABLE tree (
    rid INTEGER PRIMARY KEY NOT NULL,
    size BIGINT NOT NULL,
    events BIGINT NOT NULL,
    signed_size BIGINT NOT NULL,
    latest_at BIGINT
);

-- Events of portfolios and of the server that have no leaf yet. `source` says which table: 1 events, 2 portfolio_events,
-- 3 server_events. `subject` is the portfolio, and 0 for others; `number` is the event's number in that log.
CREATE TABLE unplaced (
    source INTEGER NOT NULL,
    subject BIGINT NOT NULL,
    number BIGINT NOT NULL,
    PRIMARY KEY (source, subject, number)
) WITHOUT ROWID;
INSERT INTO unplaced SELECT 2, portfolio, sequence FROM portfolio_events;
INSERT INTO unplaced SELECT 3, 0, sequence FROM server_events;
CREATE TRIGGER portfolio_events_unplaced AFTER INSERT ON portfolio_events BEGIN
    INSERT INTO unplaced VALUES (2, NEW.portfolio, NEW.sequence);
END;
CREATE TRIGGER server_events_unplaced AFTER INSERT ON server_events BEGIN
    INSERT INTO unplaced VALUES (3, 0, NEW.sequence);
END;

-- The hashes of the tree, 256 to a tile. Tile 0 of level 0 has the hashes of the first 256 leaves, tile 0 of level 1 the roots of the first
-- 256 tiles of level 0, and so on. The last tile of a level may have fewer.
CREATE TABLE tree_tiles (
    level INTEGER NOT NULL,
    number BIGINT NOT NULL,
    hashes BLOB NOT NULL,
    PRIMARY KEY (level, number)
);

-- Which events the leaves belong to: `length` leaves from `first_leaf` on belong to as many events, numbered from `number` on.
CREATE TABLE tree_runs (
    first_leaf BIGINT PRIMARY KEY NOT NULL,
    source INTEGER NOT NULL,
    subject BIGINT NOT NULL,
    number BIGINT NOT NULL,
    length BIGINT NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX tree_runs_by_event ON tree_runs (source, subject, number);

-- The signed sizes of the tree. Two checkpoints never have one size.
CREATE TABLE checkpoints (
    size BIGINT PRIMARY KEY NOT NULL,
    root BLOB NOT NULL,
    note TEXT NOT NULL,
    created_at BIGINT NOT NULL
) WITHOUT ROWID;

-- The keys that sign checkpoints; the last one is in force. `sealed` is the secret half, encrypted under a key in a file outside the
-- database; NULL if the operator keeps the secret half.
CREATE TABLE log_keys (
    rid BIGINT PRIMARY KEY NOT NULL,
    name TEXT NOT NULL,
    public BLOB NOT NULL,
    sealed BLOB,
    created_at BIGINT NOT NULL
) WITHOUT ROWID;
