-- The tracing span in which a question was asked, as a `traceparent`: the span that ends the question links to it. A row is
-- written only if spans are exported, and is deleted when the question ends.
CREATE TABLE suspension_traces (
    suspension bigint PRIMARY KEY REFERENCES suspensions (rid),
    context text NOT NULL
);
