DROP TRIGGER portfolio_events_unplaced;
DROP TRIGGER server_events_unplaced;
DROP TABLE log_keys;
DROP TABLE checkpoints;
DROP TABLE tree_runs;
DROP TABLE tree_tiles;
DROP TABLE unplaced;
DROP TABLE tree;
