DROP TABLE answered;
DROP TABLE inbox;
