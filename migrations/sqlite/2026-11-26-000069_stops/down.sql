-- An older version knows no stops: an intent that is paused would stay blocked for ever.
DROP INDEX suspensions_stopped;
DROP TABLE stops;
