-- The drafts of answers that people share with the others who may answer: one for each author. A question that is answered loses them; with
-- every other ending the agent gets them.
CREATE TABLE drafts (
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    person TEXT NOT NULL,
    texts BLOB NOT NULL,
    saved_at BIGINT NOT NULL,
    PRIMARY KEY (suspension, person)
) WITHOUT ROWID;

-- What was typed on the page of a link is kept for each browser: a person who only holds the link of another one replaces nothing of that
-- person's. The hash of the browser's cookie stands for it, and nothing stands for a page that was made for a person who had logged in.
ALTER TABLE unsent_answers RENAME TO unsent_before;
DROP INDEX unsent_answers_by_time;
DROP INDEX unsent_answers_by_person;
CREATE TABLE unsent_answers (
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    person BLOB NOT NULL,
    browser BLOB NOT NULL,
    form BLOB NOT NULL,
    kept_at BIGINT NOT NULL,
    PRIMARY KEY (suspension, person, browser)
) WITHOUT ROWID;
INSERT INTO unsent_answers SELECT suspension, person, X'', form, kept_at FROM unsent_before;
DROP TABLE unsent_before;
CREATE INDEX unsent_answers_by_time ON unsent_answers (kept_at);
CREATE INDEX unsent_answers_by_person ON unsent_answers (person);
