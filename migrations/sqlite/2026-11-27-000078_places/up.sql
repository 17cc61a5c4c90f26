-- The places of an open question in the inboxes of people, as a list in JSON beside the question: its end finds the rows of the inbox by
-- their keys, and the index that found them by the question is no longer written with each question and each answer.
ALTER TABLE suspensions ADD COLUMN places TEXT;
UPDATE suspensions SET places = (SELECT json_group_array(place) FROM inbox WHERE suspension = suspensions.rid)
WHERE rid IN (SELECT suspension FROM inbox);
DROP INDEX inbox_by_suspension;
