DROP INDEX api_keys_subject;
DROP INDEX api_keys_name;
