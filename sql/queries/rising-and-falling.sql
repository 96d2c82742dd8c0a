-- Question: whose score moved most since the mirror last saw it change?
-- Answer: one row per account whose score changed, the largest movement first, up or down.
-- Readers: sales managers, weekly.
SELECT account_name, type, previous_score, main_score, score_change, score_changed_at
FROM marts.account_360
WHERE score_change IS NOT NULL AND score_change <> 0
ORDER BY abs(score_change) DESC, account_name
LIMIT 25;
