DROP TABLE access_requests;
DROP TABLE access_entries;
