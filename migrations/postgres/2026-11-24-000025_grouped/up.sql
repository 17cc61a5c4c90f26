-- Whether an intent was ever put into a portfolio: only then are the deadlines of portfolios read with it.
ALTER TABLE intents ADD COLUMN is_grouped boolean NOT NULL DEFAULT false;
UPDATE intents SET is_grouped = true WHERE rid IN (SELECT intent FROM portfolio_members);
