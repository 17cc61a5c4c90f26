-- A reminder continues the thread of the first message, and a question shows the results of its messages.
CREATE INDEX outbox_by_suspension ON outbox (suspension);
