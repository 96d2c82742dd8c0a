-- Question: which companies hire more than they used to?
-- Answer: one row per company: postings of the last three months against the three before.
-- Readers: business development.
WITH recent AS (
  SELECT
    company_id,
    any_value(company_name) AS company_name,
    any_value(account_id) AS account_id,
    sum(postings) FILTER (month > CAST(now() AT TIME ZONE 'UTC' AS DATE) - 92) AS last_three_months,
    sum(postings) FILTER (month <= CAST(now() AT TIME ZONE 'UTC' AS DATE) - 92) AS three_before,
    sum(open_now) AS open_now
  FROM marts.hiring_trend
  WHERE month > CAST(now() AT TIME ZONE 'UTC' AS DATE) - 184
  GROUP BY company_id
)
SELECT
  company_name,
  account_id,
  CAST(coalesce(last_three_months, 0) AS BIGINT) AS last_three_months,
  CAST(coalesce(three_before, 0) AS BIGINT) AS three_before,
  CAST(coalesce(last_three_months, 0) - coalesce(three_before, 0) AS BIGINT) AS change,
  CAST(open_now AS BIGINT) AS open_now
FROM recent
ORDER BY change DESC, open_now DESC, company_name
LIMIT 25;
