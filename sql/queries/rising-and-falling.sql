-- Question: whose score moved most since the mirror last saw it change?
-- Answer: one row per account whose score changed, the largest movement first, up or down.
-- Readers: sales managers, weekly.
SELECT account_name, type, previous_score, main_score, round(score_change, 1) AS score_change, score_changed_at
FROM marts.account_360
WHERE account_360.score_change <> 0
ORDER BY abs(account_360.score_change) DESC, account_name
LIMIT 25;
