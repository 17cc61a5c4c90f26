-- Whether a question keeps the owner of the key that asked from answering: the lists of that person leave it out.
ALTER TABLE inbox ADD COLUMN keeps_owner boolean NOT NULL DEFAULT false;
UPDATE inbox SET keeps_owner = true WHERE suspension IN (
    SELECT s.rid FROM suspensions s JOIN events e ON e.rid = s.event
    WHERE s.resolution IS NULL AND convert_from(e.bytes, 'UTF8')::json -> 'payload' ->> 'separation' IS NOT NULL);

-- The mails to admins about questions on which too few people are left to agree: one for a question and an admin, also after it was sent,
-- so that there is no second one.
CREATE TABLE alerts (
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    person uuid NOT NULL,
    due_at timestamptz,
    tries integer NOT NULL DEFAULT 0,
    lease bytea,
    PRIMARY KEY (suspension, person)
);
CREATE INDEX alerts_by_time ON alerts (due_at) WHERE due_at IS NOT NULL;
