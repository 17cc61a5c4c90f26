-- When the page of a question was first opened by the link of each recipient, while the question was open. It stands beside the log, because
-- a program may have opened the page.
CREATE TABLE views (
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    recipient text NOT NULL,
    first_at timestamptz NOT NULL,
    PRIMARY KEY (suspension, recipient)
);
