-- When the page of a question was first opened by the link of each recipient, while the question was open. It stands beside the log, because
-- a program may have opened the page.
CREATE TABLE views (
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    recipient TEXT NOT NULL,
    first_at BIGINT NOT NULL,
    PRIMARY KEY (suspension, recipient)
) WITHOUT ROWID;
