-- Question: which accounts raised money in the last 180 days and hire engineers? Change the pattern to what you sell to.
-- Answer: one row per account: its latest round, and its open jobs whose title or function matches, most jobs first.
-- Readers: business development.
SELECT
  funding.account_name,
  max_by(funding.round_text, funding.date) AS latest_round,
  max_by(funding.amount_text, funding.date) AS amount,
  max(funding.date) AS raised_on,
  count(DISTINCT openings.id) AS open_engineering_jobs,
  min(openings.title) AS for_example
FROM marts.funding_events AS funding
INNER JOIN main.accounts AS accounts ON accounts.id = funding.account_id
INNER JOIN main.job_openings AS openings ON openings.company_id = accounts.company_id
WHERE
  funding.date > now() - INTERVAL 4320 HOUR
  AND lower(coalesce(openings.status, 'open')) = 'open'
  AND regexp_matches(concat_ws(' ', openings.title, openings.job_function), '\bengineer\w*\b', 'i')
GROUP BY funding.account_id, funding.account_name
ORDER BY open_engineering_jobs DESC, funding.account_name;
