DROP TABLE sessions;
DROP TABLE logins;
