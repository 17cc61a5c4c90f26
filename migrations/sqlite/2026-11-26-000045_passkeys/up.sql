-- Passkeys of people. One that was removed has no row. `counter` is the last one that the authenticator reported.
CREATE TABLE passkeys (
    rid INTEGER PRIMARY KEY NOT NULL,
    credential_id BLOB NOT NULL,
    person BLOB NOT NULL,
    public_key BLOB NOT NULL,
    algorithm INTEGER NOT NULL,
    rp_id TEXT NOT NULL,
    counter BIGINT NOT NULL,
    added_at BIGINT NOT NULL,
    used_at BIGINT
);
CREATE UNIQUE INDEX passkeys_by_credential ON passkeys (credential_id);
CREATE INDEX passkeys_by_person ON passkeys (person);

-- The challenge that a passkey of the person signs next, and when it ends; absent if none was given out.
ALTER TABLE sessions ADD COLUMN challenge BLOB;
ALTER TABLE sessions ADD COLUMN challenge_until BIGINT;
