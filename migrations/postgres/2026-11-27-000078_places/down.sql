CREATE INDEX inbox_by_suspension ON inbox (suspension);
ALTER TABLE suspensions DROP COLUMN places;
