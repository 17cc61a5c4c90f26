ALTER TABLE sessions DROP COLUMN auth_time;
ALTER TABLE sessions DROP COLUMN method;
DROP TABLE openid_logins;
DROP TABLE identities;
