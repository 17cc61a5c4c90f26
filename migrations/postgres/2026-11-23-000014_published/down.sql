DROP TABLE published;
DROP FUNCTION published_position();
DROP SEQUENCE published_offset;
