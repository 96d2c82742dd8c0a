-- Purpose: job openings with the hiring company, ordered by the day of posting.
-- Grain: one row per company and job opening that is listed now.
-- Readers: analysts.
CREATE OR REPLACE VIEW marts.job_timeline AS
WITH tracked AS (
  SELECT company_id, min(id) AS account_id FROM main.accounts WHERE company_id IS NOT NULL GROUP BY company_id
)
SELECT
  openings.company_id,
  openings.id AS job_opening_id,
  companies.name AS company_name,
  tracked.account_id,
  openings.title,
  openings.job_function,
  openings.location,
  openings.status,
  CAST(openings.posted_on AT TIME ZONE 'UTC' AS DATE) AS posted_on,
  -- date_trunc of a DATE is a DATE in DuckDB 1.2 and a TIMESTAMP in 1.5; without the cast, the view opens in one of
  -- them only.
  CAST(date_trunc('month', openings.posted_on AT TIME ZONE 'UTC') AS DATE) AS posted_month,
  openings.url,
  openings._first_synced_at AS first_synced_at
FROM main.job_openings AS openings
LEFT JOIN main.companies AS companies ON companies.id = openings.company_id
LEFT JOIN tracked ON tracked.company_id = openings.company_id;

COMMENT ON VIEW marts.job_timeline IS 'Job openings with the company that hires. One row per company and job opening listed now.';
COMMENT ON COLUMN marts.job_timeline.company_id IS 'Company: companies.id.';
COMMENT ON COLUMN marts.job_timeline.job_opening_id IS 'Job opening: job_openings.id.';
COMMENT ON COLUMN marts.job_timeline.company_name IS 'Name of the company.';
COMMENT ON COLUMN marts.job_timeline.account_id IS 'Account on this company (the lowest id of several); NULL when none is tracked.';
COMMENT ON COLUMN marts.job_timeline.title IS 'Title of the job.';
COMMENT ON COLUMN marts.job_timeline.job_function IS 'Function of the job.';
COMMENT ON COLUMN marts.job_timeline.location IS 'Where the job is.';
COMMENT ON COLUMN marts.job_timeline.status IS 'Status as the service names it.';
COMMENT ON COLUMN marts.job_timeline.posted_on IS 'Day the job was posted.';
COMMENT ON COLUMN marts.job_timeline.posted_month IS 'First day of the month it was posted in.';
COMMENT ON COLUMN marts.job_timeline.url IS 'Address of the job opening.';
COMMENT ON COLUMN marts.job_timeline.first_synced_at IS 'When the opening first reached this mirror.';
