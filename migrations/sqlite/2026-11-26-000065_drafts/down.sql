DROP TABLE drafts;

-- Of several forms of one person the newest stays.
CREATE TABLE unsent_before (
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    person BLOB NOT NULL,
    form BLOB NOT NULL,
    kept_at BIGINT NOT NULL,
    PRIMARY KEY (suspension, person)
) WITHOUT ROWID;
INSERT INTO unsent_before SELECT suspension, person, form, kept_at FROM unsent_answers u
WHERE NOT EXISTS (SELECT 1 FROM unsent_answers n WHERE n.suspension = u.suspension AND n.person = u.person
    AND (n.kept_at > u.kept_at OR n.kept_at = u.kept_at AND n.browser > u.browser));
DROP TABLE unsent_answers;
ALTER TABLE unsent_before RENAME TO unsent_answers;
CREATE INDEX unsent_answers_by_time ON unsent_answers (kept_at);
CREATE INDEX unsent_answers_by_person ON unsent_answers (person);
