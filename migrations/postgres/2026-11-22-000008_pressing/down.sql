DROP INDEX suspensions_unanswered;
DROP TABLE places;
DROP TABLE departures;
