-- Question: which churned accounts show signs that they are worth another call?
-- Answer: one row per churned account with signals in the last 90 days, by number of signals.
-- Readers: business development.
SELECT
  accounts.account_name,
  accounts.main_score,
  count(*) AS signals_90_days,
  string_agg(DISTINCT signals.type, ', ' ORDER BY signals.type) AS kinds,
  max(signals.date) AS last_at
FROM marts.account_360 AS accounts
JOIN main.signals AS signals ON signals.account_id = accounts.account_id
WHERE accounts.type = 'churned' AND signals.date > now() - INTERVAL 2160 HOUR
GROUP BY accounts.account_id, accounts.account_name, accounts.main_score
ORDER BY signals_90_days DESC, account_name;
