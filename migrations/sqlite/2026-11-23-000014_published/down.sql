DROP TABLE published;
