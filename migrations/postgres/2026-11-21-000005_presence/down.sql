DROP INDEX suspensions_open_with_fallback;
DROP TABLE presence;
