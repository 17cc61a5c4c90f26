-- The span that asked, as a `traceparent`, while its question is open and spans are exported: the span that ends
-- the question links to it.
CREATE TABLE suspension_traces (
    suspension INTEGER PRIMARY KEY NOT NULL REFERENCES suspensions (rid),
    context TEXT NOT NULL
);
