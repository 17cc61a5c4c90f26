-- The witnesses that have cosigned checkpoints: the public key, and how many leaves the newest checkpoint has that it cosigned.
CREATE TABLE witnesses (
    key TEXT PRIMARY KEY NOT NULL,
    size BIGINT NOT NULL
) WITHOUT ROWID;
