-- How many bytes were written for an agent on a day (counted from 1970), so that no agent fills the disk. Each connection has a
-- part of its own, so that no connection waits for another.
CREATE TABLE agent_bytes (
    agent text NOT NULL,
    day integer NOT NULL,
    part integer NOT NULL,
    bytes bigint NOT NULL,
    PRIMARY KEY (day, agent, part)
);
