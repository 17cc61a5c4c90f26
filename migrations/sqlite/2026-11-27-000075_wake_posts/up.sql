-- Messages to the endpoints of the configuration file that a suspension is over. The row names the suspension alone: the message is made from
-- it when it is sent. While `lease` is set, one server is sending it until `due_at`.
CREATE TABLE wake_posts (
    endpoint TEXT NOT NULL,
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    tries INTEGER NOT NULL,
    due_at BIGINT NOT NULL,
    lease BLOB,
    PRIMARY KEY (endpoint, suspension)
) WITHOUT ROWID;
CREATE INDEX wake_posts_by_due ON wake_posts (endpoint, due_at, suspension);
CREATE INDEX wake_posts_by_age ON wake_posts (due_at);
