DROP TABLE drafts;

-- Of several forms of one person the newest stays.
CREATE TABLE unsent_before (
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    person uuid NOT NULL,
    form bytea NOT NULL,
    kept_at timestamptz NOT NULL,
    PRIMARY KEY (suspension, person)
);
INSERT INTO unsent_before SELECT suspension, person, form, kept_at FROM unsent_answers u
WHERE NOT EXISTS (SELECT 1 FROM unsent_answers n WHERE n.suspension = u.suspension AND n.person = u.person
    AND (n.kept_at > u.kept_at OR n.kept_at = u.kept_at AND n.browser > u.browser));
DROP TABLE unsent_answers;
ALTER TABLE unsent_before RENAME TO unsent_answers;
ALTER INDEX unsent_before_pkey RENAME TO unsent_answers_pkey;
CREATE INDEX unsent_answers_by_time ON unsent_answers (kept_at);
CREATE INDEX unsent_answers_by_person ON unsent_answers (person);
