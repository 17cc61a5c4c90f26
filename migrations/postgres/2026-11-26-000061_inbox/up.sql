-- The places of each open question in the inboxes of people, in the order of the deadlines. A question without a deadline has the last
-- moment of the year 9999.
CREATE TABLE inbox (
    place text NOT NULL,
    due_at timestamptz NOT NULL,
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    PRIMARY KEY (place, due_at, suspension)
) WITH (autovacuum_vacuum_scale_factor = 0.02);
CREATE INDEX inbox_by_suspension ON inbox (suspension);

-- The questions that each person has answered.
CREATE TABLE answered (
    person text NOT NULL,
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    PRIMARY KEY (person, suspension)
);
-- The erasure of what was said with a question finds its rows.
CREATE INDEX answered_by_suspension ON answered (suspension);

-- The questions that are open: those that are assigned stand at their assignees, the others at the people who were told.
CREATE TEMPORARY TABLE open_questions ON COMMIT DROP AS
SELECT s.rid, coalesce(s.expires_at, '9999-12-31 23:59:59+00') AS due_at, convert_from(e.bytes, 'UTF8')::json -> 'payload' AS payload
FROM suspensions s JOIN events e ON e.rid = s.event
WHERE s.resolution IS NULL;
INSERT INTO inbox
SELECT 'person:' || lower(named.value), q.due_at, q.rid
FROM open_questions q, json_array_elements_text(q.payload -> 'assignees' -> 'people') named
ON CONFLICT DO NOTHING;
INSERT INTO inbox
SELECT 'group:' || named.value, q.due_at, q.rid
FROM open_questions q, json_array_elements_text(q.payload -> 'assignees' -> 'groups') named
ON CONFLICT DO NOTHING;
INSERT INTO inbox
SELECT 'role:' || named.value, q.due_at, q.rid
FROM open_questions q, json_array_elements_text(q.payload -> 'assignees' -> 'roles') named
ON CONFLICT DO NOTHING;
INSERT INTO inbox
SELECT 'person:' || lower(named.value), q.due_at, q.rid
FROM open_questions q, json_array_elements_text(q.payload -> 'notify_to') named
WHERE q.payload ->> 'assignees' IS NULL
ON CONFLICT DO NOTHING;
INSERT INTO inbox
SELECT DISTINCT 'person:' || lower(o.recipient), q.due_at, q.rid
FROM open_questions q JOIN outbox o ON o.suspension = q.rid
WHERE q.payload ->> 'assignees' IS NULL
ON CONFLICT DO NOTHING;
DROP TABLE open_questions;
