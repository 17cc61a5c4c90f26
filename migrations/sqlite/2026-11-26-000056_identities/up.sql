-- Accounts of people at an issuer of identities (OpenID Connect). A person has at most one, and an account is one person's. It goes with the
-- person.
CREATE TABLE identities (
    rid INTEGER PRIMARY KEY NOT NULL,
    issuer TEXT NOT NULL,
    subject TEXT NOT NULL,
    person BLOB NOT NULL,
    bound_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX identities_by_subject ON identities (issuer, subject);
CREATE UNIQUE INDEX identities_by_person ON identities (person);

-- Logins at the issuer that browsers have begun. `hash` is that of the state that comes back with the browser, and `browser` that of its
-- cookie. A row is deleted when it is used.
CREATE TABLE openid_logins (
    rid INTEGER PRIMARY KEY NOT NULL,
    hash BLOB NOT NULL,
    browser BLOB NOT NULL,
    expires_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX openid_logins_by_hash ON openid_logins (hash);
CREATE INDEX openid_logins_by_end ON openid_logins (expires_at);

-- How the session began: 0 by a link in a mail, 1 by the issuer; and when the person last proved to the issuer who they are, if it says so.
ALTER TABLE sessions ADD COLUMN method INTEGER NOT NULL DEFAULT 0;
ALTER TABLE sessions ADD COLUMN auth_time BIGINT;
