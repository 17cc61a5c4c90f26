-- The places of each open question in the inboxes of people, in the order of the deadlines. A question without a deadline has the last
-- moment of the year 9999.
CREATE TABLE inbox (
    place TEXT NOT NULL,
    due_at BIGINT NOT NULL,
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    PRIMARY KEY (place, due_at, suspension)
) WITHOUT ROWID;
CREATE INDEX inbox_by_suspension ON inbox (suspension);

-- The questions that each person has answered.
CREATE TABLE answered (
    person TEXT NOT NULL,
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    PRIMARY KEY (person, suspension)
) WITHOUT ROWID;
-- The erasure of what was said with a question finds its rows.
CREATE INDEX answered_by_suspension ON answered (suspension);

-- The questions that are open: those that are assigned stand at their assignees, the others at the people who were told.
INSERT OR IGNORE INTO inbox
SELECT 'person:' || lower(named.value), coalesce(s.expires_at, 253402300799000000), s.rid
FROM suspensions s JOIN events e ON e.rid = s.event, json_each(CAST(e.bytes AS TEXT), '$.payload.assignees.people') named
WHERE s.resolution IS NULL;
INSERT OR IGNORE INTO inbox
SELECT 'group:' || named.value, coalesce(s.expires_at, 253402300799000000), s.rid
FROM suspensions s JOIN events e ON e.rid = s.event, json_each(CAST(e.bytes AS TEXT), '$.payload.assignees.groups') named
WHERE s.resolution IS NULL;
INSERT OR IGNORE INTO inbox
SELECT 'role:' || named.value, coalesce(s.expires_at, 253402300799000000), s.rid
FROM suspensions s JOIN events e ON e.rid = s.event, json_each(CAST(e.bytes AS TEXT), '$.payload.assignees.roles') named
WHERE s.resolution IS NULL;
INSERT OR IGNORE INTO inbox
SELECT 'person:' || lower(named.value), coalesce(s.expires_at, 253402300799000000), s.rid
FROM suspensions s JOIN events e ON e.rid = s.event, json_each(CAST(e.bytes AS TEXT), '$.payload.notify_to') named
WHERE s.resolution IS NULL AND json_extract(CAST(e.bytes AS TEXT), '$.payload.assignees') IS NULL;
INSERT OR IGNORE INTO inbox
SELECT 'person:' || lower(o.recipient), coalesce(s.expires_at, 253402300799000000), s.rid
FROM suspensions s JOIN events e ON e.rid = s.event JOIN outbox o ON o.suspension = s.rid
WHERE s.resolution IS NULL AND json_extract(CAST(e.bytes AS TEXT), '$.payload.assignees') IS NULL;
