-- The names of the events for which open parked intents wait. `provider` says which events count: 0 all of this name, 1 those of operators
-- and admins, 2 those of gateways.
CREATE TABLE wakes (
    name TEXT NOT NULL,
    suspension BIGINT NOT NULL REFERENCES suspensions (rid),
    provider INTEGER NOT NULL,
    PRIMARY KEY (name, suspension, provider)
) WITHOUT ROWID;
