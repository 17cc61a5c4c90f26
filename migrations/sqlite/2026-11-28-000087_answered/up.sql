-- The erasure of a question removes its rows by their keys: its events name the people who have answered it. So the index that found the rows by
-- the question is no longer written with each answer.
DROP INDEX answered_by_suspension;
