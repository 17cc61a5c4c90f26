-- The channels a gateway's key is tied to, their names parted by spaces; absent for an unbound gateway and for other roles. The gateways
-- there were before stay unbound.
ALTER TABLE api_keys ADD COLUMN tied_to text;
-- The message an answer link was in, which the log names for an answer by it; absent of links from before.
ALTER TABLE tokens ADD COLUMN delivery uuid;
