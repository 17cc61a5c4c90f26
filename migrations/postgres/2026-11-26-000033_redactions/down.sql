DROP INDEX suspension_keys_by_suspension;
DROP INDEX tokens_by_suspension;
DROP TABLE redactions;
