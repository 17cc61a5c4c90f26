-- People who may log in. An address is listed once: a person who was removed keeps the row, for the names in the log.
CREATE TABLE people (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    address text NOT NULL,
    role integer NOT NULL,
    added_at timestamptz NOT NULL,
    added_by text NOT NULL,
    confirmed_at timestamptz,
    removed_at timestamptz
);
CREATE UNIQUE INDEX people_by_address ON people (address) WHERE removed_at IS NULL;
