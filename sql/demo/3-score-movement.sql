-- Whose score moved between the two syncs
-- Purpose: accounts whose score changed, the largest movement first. Grain: one row per account.
-- Readers: duckmirror demo.
SELECT
  account_name AS account,
  previous_score AS score_before,
  main_score AS score_now,
  round(score_change, 1) AS change
FROM marts.account_360
WHERE score_change <> 0
ORDER BY abs(score_change) DESC, account_name
LIMIT 5
