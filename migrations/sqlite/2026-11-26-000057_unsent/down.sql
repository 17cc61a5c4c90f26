DROP TABLE unsent_answers;
ALTER TABLE openid_logins DROP COLUMN question;
ALTER TABLE logins DROP COLUMN question;
