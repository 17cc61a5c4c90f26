-- The names of the events for which open parked intents wait. `provider` says which events count: 0 all of this name, 1 those of operators
-- and admins, 2 those of gateways.
CREATE TABLE wakes (
    name text NOT NULL,
    suspension bigint NOT NULL REFERENCES suspensions (rid),
    provider integer NOT NULL,
    PRIMARY KEY (name, suspension, provider)
);
