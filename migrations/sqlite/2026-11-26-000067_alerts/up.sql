-- Whether a question keeps the owner of the key that asked from answering: the lists of that person leave it out.
ALTER TABLE inbox ADD COLUMN keeps_owner BOOLEAN NOT NULL DEFAULT 0;
UPDATE inbox SET keeps_owner = 1 WHERE suspension IN (
    SELECT s.rid FROM suspensions s JOIN events e ON e.rid = s.event
    WHERE s.resolution IS NULL AND json_extract(CAST(e.bytes AS TEXT), '$.payload.separation') IS NOT NULL);

-- The mails to admins about questions on which too few people are left to agree: one for a question and an admin, also after it was sent,
-- so that there is no second one.
CREATE TABLE alerts (
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    person BLOB NOT NULL,
    due_at BIGINT,
    tries INTEGER NOT NULL DEFAULT 0,
    lease BLOB,
    PRIMARY KEY (suspension, person)
) WITHOUT ROWID;
CREATE INDEX alerts_by_time ON alerts (due_at) WHERE due_at IS NOT NULL;
