DROP INDEX api_keys_subject;
