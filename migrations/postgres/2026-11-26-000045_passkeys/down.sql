ALTER TABLE sessions DROP COLUMN challenge_until;
ALTER TABLE sessions DROP COLUMN challenge;
DROP TABLE passkeys;
