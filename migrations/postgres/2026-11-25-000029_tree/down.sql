DROP RULE events_unplaced ON events;
DROP RULE portfolio_events_unplaced ON portfolio_events;
DROP RULE server_events_unplaced ON server_events;
DROP TABLE log_keys;
DROP TABLE checkpoints;
DROP TABLE tree_runs;
DROP TABLE tree_tiles;
DROP TABLE unplaced;
DROP TABLE tree;
