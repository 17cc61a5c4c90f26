-- The span that asked, while its question is open and spans are exported: what ends the question links to it. A `traceparent`.
CREATE TABLE suspension_traces (
    suspension bigint PRIMARY KEY REFERENCES suspensions (rid),
    context text NOT NULL
);
