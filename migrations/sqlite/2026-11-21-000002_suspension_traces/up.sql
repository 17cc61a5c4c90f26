-- The tracing span in which a question was asked, as a `traceparent`: the span that ends the question links to it. A row is
-- written only if spans are exported, and is deleted when the question ends.
CREATE TABLE suspension_traces (
    suspension INTEGER PRIMARY KEY NOT NULL REFERENCES suspensions (rid),
    context TEXT NOT NULL
);
