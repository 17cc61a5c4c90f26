-- A question says in its hands whether admins were told that too few people are left to answer. Its end then deletes the rows of these mails,
-- and the ends of other questions look for none. Rows of questions that have ended without a quorum stayed until now.
DELETE FROM alerts WHERE EXISTS (SELECT 1 FROM suspensions s WHERE s.rid = alerts.suspension AND s.resolution IS NOT NULL);
UPDATE suspensions SET hands = json_set(coalesce(hands, '{}'), '$.has_alerts', json('true'))
    WHERE rid IN (SELECT suspension FROM alerts);
