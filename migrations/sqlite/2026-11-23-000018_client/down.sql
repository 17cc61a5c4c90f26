DROP TABLE client_ids;
DROP TABLE announcements;
ALTER TABLE suspensions DROP COLUMN fixed_deadline;
ALTER TABLE api_keys DROP COLUMN client;
