-- People who may log in. An address is listed once: a person who was removed keeps the row, for the names in the log.
CREATE TABLE people (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    address TEXT NOT NULL,
    role INTEGER NOT NULL,
    added_at BIGINT NOT NULL,
    added_by TEXT NOT NULL,
    confirmed_at BIGINT,
    removed_at BIGINT
);
CREATE UNIQUE INDEX people_by_address ON people (address) WHERE removed_at IS NULL;
