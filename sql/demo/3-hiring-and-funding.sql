-- Hiring against funding
-- Purpose: companies that raised money lately, and how much they hire. Grain: one row per account.
-- Readers: duckmirror demo.
WITH funding AS (
  SELECT account_id, max(date) AS funded_on, max_by(headline, date) AS round
  FROM signals
  WHERE type = 'funding-alert'
  GROUP BY account_id
),

hiring AS (
  SELECT company_id, count(*) AS openings, mode(job_function) AS mostly
  FROM job_openings
  GROUP BY company_id
)

SELECT
  accounts.name AS account,
  CAST(funding.funded_on AS DATE) AS funded,
  funding.round,
  hiring.openings,
  hiring.mostly
FROM funding
INNER JOIN accounts ON funding.account_id = accounts.id
INNER JOIN hiring ON accounts.company_id = hiring.company_id
ORDER BY hiring.openings DESC, accounts.id
LIMIT 5
