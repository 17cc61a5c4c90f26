-- The span that asked, while its question is open and spans are exported: what ends the question links to it. A `traceparent`.
CREATE TABLE suspension_traces (
    suspension INTEGER PRIMARY KEY NOT NULL REFERENCES suspensions (rid),
    context TEXT NOT NULL
);
