-- Consecutive events of an intent whose payload and salt were erased. `previous` is the row of the event before the first of them, so that
-- a walk from the end of the log passes them in one step; `server_event` is the number of the event of the server's log that says so.
CREATE TABLE redactions (
    intent bigint NOT NULL REFERENCES intents (rid),
    last_sequence bigint NOT NULL,
    first_sequence bigint NOT NULL,
    previous bigint,
    server_event bigint NOT NULL,
    PRIMARY KEY (intent, last_sequence)
);
-- An erasure finds what belongs to a question.
CREATE INDEX tokens_by_suspension ON tokens (suspension);
CREATE INDEX suspension_keys_by_suspension ON suspension_keys (suspension);
