-- Whether an intent was ever put into a portfolio. Only then does a read of the intent look for deadlines of portfolios.
ALTER TABLE intents ADD COLUMN is_grouped BOOLEAN NOT NULL DEFAULT 0;
UPDATE intents SET is_grouped = 1 WHERE rid IN (SELECT intent FROM portfolio_members);
