-- Whether an intent was ever put into a portfolio. Only then does a read of the intent look for deadlines of portfolios.
ALTER TABLE intents ADD COLUMN is_grouped boolean NOT NULL DEFAULT false;
UPDATE intents SET is_grouped = true WHERE rid IN (SELECT intent FROM portfolio_members);
