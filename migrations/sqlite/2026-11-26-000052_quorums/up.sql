-- The quorum of a question that several people answer together, as JSON.
ALTER TABLE suspensions ADD COLUMN quorum TEXT;

-- The answers that count towards the quorum of an open question: the event `intent.answer_counted` of each person.
CREATE TABLE counted_answers (
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    person TEXT NOT NULL,
    event BIGINT NOT NULL,
    PRIMARY KEY (suspension, person)
) WITHOUT ROWID;
