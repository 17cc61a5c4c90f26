ALTER TABLE subscriptions DROP COLUMN push;
ALTER TABLE subscriptions DROP COLUMN push_id;
