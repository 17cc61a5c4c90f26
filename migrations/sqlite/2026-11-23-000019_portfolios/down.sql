DROP TABLE portfolio_members;
DROP TABLE portfolio_events;
DROP TABLE portfolios;
