-- A reminder continues the thread of the first message, and a question shows the results of its messages. Rows of one question
-- are written together, so the index grows at its end.
CREATE INDEX outbox_by_suspension ON outbox (suspension);
