-- For checking the person that a gateway names as the one who answered: it must not be the name or the subject of an agent's key.
CREATE INDEX api_keys_name ON api_keys (name);
CREATE INDEX api_keys_subject ON api_keys (subject);
