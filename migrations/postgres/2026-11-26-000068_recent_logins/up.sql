-- Until when the session counts as a recent login; absent for logins by a link, and by an issuer that does not say when the person logged in.
ALTER TABLE sessions ADD COLUMN recent_until timestamptz;

-- Who gave the answer: an address that is removed and listed again is another person. Absent for answers from before this column.
ALTER TABLE counted_answers ADD COLUMN person_id uuid;
