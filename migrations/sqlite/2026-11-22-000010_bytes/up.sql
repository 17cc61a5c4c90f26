-- How many bytes were written for an agent on a day (counted from 1970), so that no agent fills the disk.
CREATE TABLE agent_bytes (
    agent TEXT NOT NULL,
    day INTEGER NOT NULL,
    part INTEGER NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (day, agent, part)
) WITHOUT ROWID;
