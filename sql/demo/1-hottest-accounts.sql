-- Hottest accounts, and why
-- Purpose: the accounts with the highest score and their latest signals. Grain: one row per account.
-- Readers: duckmirror demo.
WITH latest AS (
  SELECT
    account_id,
    count(*) AS signals_90d,
    max_by(headline, date) AS latest_signal
  FROM signals
  WHERE date > (SELECT max(date) FROM signals) - INTERVAL 90 DAY
  GROUP BY account_id
)
SELECT
  accounts.name AS account,
  accounts.industry,
  accounts.main_score AS score,
  latest.signals_90d AS signals,
  latest.latest_signal
FROM accounts
INNER JOIN latest ON accounts.id = latest.account_id
ORDER BY accounts.main_score DESC, accounts.id
LIMIT 5
