-- For finding the messages about a question: a reminder continues the thread of the first message, and the question is shown
-- with the results of its messages.
CREATE INDEX outbox_by_suspension ON outbox (suspension);
