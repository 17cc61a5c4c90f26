DROP TABLE people_group_members;
DROP TABLE people_groups;
