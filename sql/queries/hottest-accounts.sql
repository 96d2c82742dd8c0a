-- Question: which accounts deserve attention today?
-- Answer: one row per account, the highest score first, with what moved it and what happened last.
-- Readers: account executives, every morning.
SELECT account_name, type, priority, main_score, score_change_30_days, signals_30_days, last_signal_type, last_signal_headline
FROM marts.account_360
WHERE type IN ('prospect', 'open-opportunity', 'customer')
ORDER BY main_score DESC NULLS LAST, signals_30_days DESC, account_name
LIMIT 25;
