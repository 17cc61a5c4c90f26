DROP INDEX suspensions_fixed;
