-- Login links that were asked for. `person` is absent if the address is not listed, or asks too often: the row is written all the same,
-- so that the time of the reply does not tell. The mail is due at `due_at`, absent when nothing more is sent; `hash` is that of the token in
-- the newest mail.
CREATE TABLE logins (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    person uuid,
    asked_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    used_at timestamptz,
    hash bytea,
    due_at timestamptz,
    tries integer NOT NULL DEFAULT 0,
    lease bytea
);
CREATE UNIQUE INDEX logins_by_hash ON logins (hash) WHERE hash IS NOT NULL;
CREATE INDEX logins_by_person ON logins (person, asked_at);
CREATE INDEX logins_by_due ON logins (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX logins_by_age ON logins (asked_at);

-- Sessions of people who logged in. A session that ended has no row. `used_at` is brought up to date at most once a minute.
CREATE TABLE sessions (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    id uuid NOT NULL UNIQUE,
    person uuid NOT NULL,
    hash bytea NOT NULL,
    began_at timestamptz NOT NULL,
    used_at timestamptz NOT NULL,
    ends_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX sessions_by_hash ON sessions (hash);
CREATE INDEX sessions_by_person ON sessions (person);
CREATE INDEX sessions_by_end ON sessions (ends_at);
