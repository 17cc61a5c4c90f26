DROP TABLE server_log;
DROP TABLE server_events;
