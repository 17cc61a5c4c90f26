DROP TABLE witnesses;
