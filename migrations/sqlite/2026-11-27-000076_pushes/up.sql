-- Subscriptions that were made over A2A: endpoints that are pushed the changes of a task. `push_id` is the id that the protocol gives the configuration,
-- and `push` holds what the endpoint recognises the server by, encrypted under the key file. Both are null in a subscription of the API.
ALTER TABLE subscriptions ADD COLUMN push_id TEXT;
ALTER TABLE subscriptions ADD COLUMN push BLOB;
