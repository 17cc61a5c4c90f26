-- A list of the errands with one fate reads no others. Only errands have rows in this table, so no other question pays for these indexes.
CREATE INDEX errands_by_asker_and_fate ON errands (asker, fate, changed_at, intent);
CREATE INDEX errands_by_fate ON errands (fate, changed_at, intent);
