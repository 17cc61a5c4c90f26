ALTER TABLE tokens DROP COLUMN delivery;
ALTER TABLE api_keys DROP COLUMN tied_to;
