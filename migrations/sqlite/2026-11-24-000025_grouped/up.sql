-- Whether an intent was ever put into a portfolio: only then are the deadlines of portfolios read with it.
ALTER TABLE intents ADD COLUMN is_grouped BOOLEAN NOT NULL DEFAULT 0;
UPDATE intents SET is_grouped = 1 WHERE rid IN (SELECT intent FROM portfolio_members);
