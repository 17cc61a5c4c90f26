-- The channels that a gateway's key is tied to, their names separated by spaces; absent for an unbound gateway and for other
-- roles. Gateways from before this column stay unbound.
ALTER TABLE api_keys ADD COLUMN tied_to text;
-- The message that carried an answer link, which the log names for an answer by that link; absent for
-- links older than this column.
ALTER TABLE tokens ADD COLUMN delivery uuid;
