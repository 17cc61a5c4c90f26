ALTER TABLE counted_answers DROP COLUMN person_id;
ALTER TABLE sessions DROP COLUMN recent_until;
