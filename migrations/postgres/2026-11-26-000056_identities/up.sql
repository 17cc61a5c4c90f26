-- Accounts of people at an issuer of identities (OpenID Connect). A person has at most one, and an account is one person's. It goes with the
-- person.
CREATE TABLE identities (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    issuer text NOT NULL,
    subject text NOT NULL,
    person uuid NOT NULL,
    bound_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX identities_by_subject ON identities (issuer, subject);
CREATE UNIQUE INDEX identities_by_person ON identities (person);

-- Logins at the issuer that browsers have begun. `hash` is that of the state that comes back with the browser, and `browser` that of its
-- cookie. A row is deleted when it is used.
CREATE TABLE openid_logins (
    rid bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    hash bytea NOT NULL,
    browser bytea NOT NULL,
    expires_at timestamptz NOT NULL
);
CREATE UNIQUE INDEX openid_logins_by_hash ON openid_logins (hash);
CREATE INDEX openid_logins_by_end ON openid_logins (expires_at);

-- How the session began: 0 by a link in a mail, 1 by the issuer; and when the person last proved to the issuer who they are, if it says so.
ALTER TABLE sessions ADD COLUMN method integer NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN auth_time timestamptz;
