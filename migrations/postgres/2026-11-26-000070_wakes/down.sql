-- Parked intents would wait for events of which no one tells them.
DROP TABLE wakes;
