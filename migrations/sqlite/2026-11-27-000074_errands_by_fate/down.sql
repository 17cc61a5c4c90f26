DROP INDEX errands_by_fate;
DROP INDEX errands_by_asker_and_fate;
