CREATE INDEX answered_by_suspension ON answered (suspension);
