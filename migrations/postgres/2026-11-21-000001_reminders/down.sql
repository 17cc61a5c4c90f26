DROP INDEX outbox_by_suspension;
