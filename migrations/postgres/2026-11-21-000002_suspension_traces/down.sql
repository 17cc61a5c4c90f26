DROP TABLE suspension_traces;
