-- The question to which a person is led back after the login, by the id of its suspension.
ALTER TABLE logins ADD COLUMN question BLOB;
ALTER TABLE openid_logins ADD COLUMN question BLOB;

-- The text that people typed into the form of a question before a login that the question needs. It is shown to its author alone.
CREATE TABLE unsent_answers (
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    person BLOB NOT NULL,
    form BLOB NOT NULL,
    kept_at BIGINT NOT NULL,
    PRIMARY KEY (suspension, person)
) WITHOUT ROWID;
CREATE INDEX unsent_answers_by_time ON unsent_answers (kept_at);
CREATE INDEX unsent_answers_by_person ON unsent_answers (person);
