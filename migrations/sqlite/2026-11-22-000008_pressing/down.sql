DROP INDEX suspensions_taken_back;
DROP TABLE departures;
