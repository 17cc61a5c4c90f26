-- The places of an open question in the inboxes of people, as a list in JSON beside the question: its end finds the rows of the inbox by
-- their keys, and the index that found them by the question is no longer written with each question and each answer.
ALTER TABLE suspensions ADD COLUMN places text;
UPDATE suspensions SET places = listed.places
FROM (SELECT suspension, json_agg(place)::text AS places FROM inbox GROUP BY suspension) listed
WHERE suspensions.rid = listed.suspension;
DROP INDEX inbox_by_suspension;
