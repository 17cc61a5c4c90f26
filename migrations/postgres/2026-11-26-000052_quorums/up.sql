-- The quorum of a question that several people answer together, as JSON.
ALTER TABLE suspensions ADD COLUMN quorum json;

-- The answers that count towards the quorum of an open question: the event `intent.answer_counted` of each person.
CREATE TABLE counted_answers (
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    person text NOT NULL,
    event bigint NOT NULL,
    PRIMARY KEY (suspension, person)
);
