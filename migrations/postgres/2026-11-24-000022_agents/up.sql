-- A gateway that answers for a person may not name an agent, neither by its name nor by its subject.
CREATE INDEX api_keys_name ON api_keys (name);
CREATE INDEX api_keys_subject ON api_keys (subject);
