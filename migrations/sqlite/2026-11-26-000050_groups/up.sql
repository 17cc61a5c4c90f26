-- Groups of listed people. `version` counts the changes of the members: the row that holds it is locked by each of them.
CREATE TABLE people_groups (
    rid INTEGER PRIMARY KEY NOT NULL,
    name TEXT NOT NULL UNIQUE,
    version INTEGER NOT NULL DEFAULT 0
);

-- The members of each group. A person who is removed leaves all groups.
CREATE TABLE people_group_members (
    people_group BIGINT NOT NULL REFERENCES people_groups (rid),
    person BLOB NOT NULL,
    PRIMARY KEY (people_group, person)
) WITHOUT ROWID;
CREATE INDEX people_group_members_by_person ON people_group_members (person);
