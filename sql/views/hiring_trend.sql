-- Purpose: hiring of each company by month. Openings that disappeared from the list count as closed.
-- Grain: one row per company and month (UTC) in which it posted a job.
-- Readers: analysts, charts.
CREATE OR REPLACE VIEW marts.hiring_trend AS
WITH gone AS (
  SELECT history.company_id, history.id, arg_max(history.posted_on, history.valid_to) AS posted_on
  FROM history.job_openings AS history
  ANTI JOIN main.job_openings AS openings ON openings.company_id = history.company_id AND openings.id = history.id
  GROUP BY history.company_id, history.id
),
postings AS (
  -- Values of status are not documented: an opening counts as open unless its status means closed.
  SELECT
    company_id,
    posted_on,
    coalesce(lower(status) NOT IN ('closed', 'filled', 'expired', 'inactive', 'archived', 'removed'), true) AS is_open,
    false AS is_gone
  FROM main.job_openings
  UNION ALL
  SELECT company_id, posted_on, false, true FROM gone
),
months AS (
  SELECT
    company_id,
    CAST(date_trunc('month', posted_on AT TIME ZONE 'UTC') AS DATE) AS month,
    count(*) AS postings,
    count(*) FILTER (is_open) AS open_now,
    count(*) FILTER (NOT is_open) AS closed,
    count(*) FILTER (is_gone) AS removed
  FROM postings
  WHERE posted_on IS NOT NULL
  GROUP BY 1, 2
),
tracked AS (
  SELECT company_id, min(id) AS account_id FROM main.accounts WHERE company_id IS NOT NULL GROUP BY company_id
)
SELECT
  months.company_id,
  companies.name AS company_name,
  tracked.account_id,
  months.month,
  months.postings,
  coalesce(earlier.postings, 0) AS postings_month_before,
  months.postings - coalesce(earlier.postings, 0) AS change,
  months.open_now,
  months.closed,
  months.removed
FROM months
LEFT JOIN months AS earlier
  ON earlier.company_id = months.company_id AND earlier.month = CAST(months.month - INTERVAL 1 MONTH AS DATE)
LEFT JOIN main.companies AS companies ON companies.id = months.company_id
LEFT JOIN tracked ON tracked.company_id = months.company_id;

COMMENT ON VIEW marts.hiring_trend IS 'Job openings by company and month of posting. One row per company and month in which it posted any.';
COMMENT ON COLUMN marts.hiring_trend.company_id IS 'Company: companies.id.';
COMMENT ON COLUMN marts.hiring_trend.company_name IS 'Name of the company.';
COMMENT ON COLUMN marts.hiring_trend.account_id IS 'Account on this company (the lowest id of several); NULL when none is tracked.';
COMMENT ON COLUMN marts.hiring_trend.month IS 'First day of the month of posting, UTC.';
COMMENT ON COLUMN marts.hiring_trend.postings IS 'Openings posted in the month, also those closed since.';
COMMENT ON COLUMN marts.hiring_trend.postings_month_before IS 'Openings posted in the month before.';
COMMENT ON COLUMN marts.hiring_trend.change IS 'postings minus postings_month_before.';
COMMENT ON COLUMN marts.hiring_trend.open_now IS 'Of these, how many are open now: listed with a status that does not say closed.';
COMMENT ON COLUMN marts.hiring_trend.closed IS 'Of these, how many are closed now, by status or by vanishing.';
COMMENT ON COLUMN marts.hiring_trend.removed IS 'Of these, how many vanished from the list.';
