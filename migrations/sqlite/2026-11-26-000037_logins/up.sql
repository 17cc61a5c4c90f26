-- Login links that were asked for. `person` is absent if the address is not listed, or asks too often: the row is written all the same,
-- so that the time of the reply does not tell. The mail is due at `due_at`, absent when nothing more is sent; `hash` is that of the token in
-- the newest mail.
CREATE TABLE logins (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    person BLOB,
    asked_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    used_at BIGINT,
    hash BLOB,
    due_at BIGINT,
    tries INTEGER NOT NULL DEFAULT 0,
    lease BLOB
);
CREATE UNIQUE INDEX logins_by_hash ON logins (hash) WHERE hash IS NOT NULL;
CREATE INDEX logins_by_person ON logins (person, asked_at);
CREATE INDEX logins_by_due ON logins (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX logins_by_age ON logins (asked_at);

-- Sessions of people who logged in. A session that ended has no row. `used_at` is brought up to date at most once a minute.
CREATE TABLE sessions (
    rid INTEGER PRIMARY KEY NOT NULL,
    id BLOB NOT NULL UNIQUE,
    person BLOB NOT NULL,
    hash BLOB NOT NULL,
    began_at BIGINT NOT NULL,
    used_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX sessions_by_hash ON sessions (hash);
CREATE INDEX sessions_by_person ON sessions (person);
CREATE INDEX sessions_by_end ON sessions (ends_at);
