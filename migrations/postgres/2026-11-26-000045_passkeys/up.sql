-- Passkeys of people. One that was removed has no row. `counter` is the last one that the authenticator reported.
CREATE TABLE passkeys (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    credential_id bytea NOT NULL,
    person uuid NOT NULL,
    public_key bytea NOT NULL,
    algorithm integer NOT NULL,
    rp_id text NOT NULL,
    counter bigint NOT NULL,
    added_at timestamptz NOT NULL,
    used_at timestamptz
);
CREATE UNIQUE INDEX passkeys_by_credential ON passkeys (credential_id);
CREATE INDEX passkeys_by_person ON passkeys (person);

-- The challenge that a passkey of the person signs next, and when it ends; absent if none was given out.
ALTER TABLE sessions ADD COLUMN challenge bytea;
ALTER TABLE sessions ADD COLUMN challenge_until timestamptz;
