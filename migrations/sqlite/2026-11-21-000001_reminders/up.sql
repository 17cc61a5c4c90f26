-- For finding the messages about a question: a reminder continues the thread of the first message, and the question is shown
-- with the results of its messages. The messages of an attempt are written together, so most entries are added near the end.
CREATE INDEX outbox_by_suspension ON outbox (suspension);
