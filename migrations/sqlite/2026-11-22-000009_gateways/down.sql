ALTER TABLE api_keys DROP COLUMN tied_to;
