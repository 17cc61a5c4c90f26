-- The span that asked, as a `traceparent`, while its question is open and spans are exported: the span that ends
-- the question links to it.
CREATE TABLE suspension_traces (
    suspension bigint PRIMARY KEY REFERENCES suspensions (rid),
    context text NOT NULL
);
