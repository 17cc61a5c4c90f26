-- The witnesses that have cosigned checkpoints: the public key, and how many leaves the newest checkpoint has that it cosigned.
CREATE TABLE witnesses (
    key text PRIMARY KEY,
    size bigint NOT NULL
);
