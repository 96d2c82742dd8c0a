-- Question: how do the books of our people compare?
-- Answer: one row per owner and account type: accounts, mean score, signals of the last 30 days, open jobs.
-- Readers: sales managers.
SELECT
  owner_id,
  coalesce(json_extract_string(any_value(owner), '$.email'), owner_id, 'nobody') AS owner,
  type,
  count(*) AS accounts,
  round(avg(main_score), 1) AS mean_score,
  CAST(sum(signals_30_days) AS BIGINT) AS signals_30_days,
  CAST(sum(open_jobs) AS BIGINT) AS open_jobs
FROM marts.account_360
GROUP BY owner_id, type
ORDER BY owner, type;
