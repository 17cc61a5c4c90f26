DROP TABLE retries;
