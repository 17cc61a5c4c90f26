-- Messages to the endpoints of the configuration file that a suspension is over. The row names the suspension alone: the message is made from
-- it when it is sent. While `lease` is set, one server is sending it until `due_at`.
CREATE TABLE wake_posts (
    endpoint text NOT NULL,
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    tries integer NOT NULL,
    due_at timestamptz NOT NULL,
    lease bytea,
    PRIMARY KEY (endpoint, suspension)
);
CREATE INDEX wake_posts_by_due ON wake_posts (endpoint, due_at, suspension);
CREATE INDEX wake_posts_by_age ON wake_posts (due_at);
