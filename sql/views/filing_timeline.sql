-- Purpose: regulatory filings with the company that filed, ordered by date.
-- Grain: one row per company and filing.
-- Readers: analysts.
CREATE OR REPLACE VIEW marts.filing_timeline AS
WITH tracked AS (
  SELECT company_id, min(id) AS account_id FROM main.accounts WHERE company_id IS NOT NULL GROUP BY company_id
)
SELECT
  filings.company_id,
  filings.id AS filing_id,
  companies.name AS company_name,
  tracked.account_id,
  filings.type,
  CAST(filings.filing_date AT TIME ZONE 'UTC' AS DATE) AS filing_date,
  CAST(filings.filing_date AT TIME ZONE 'UTC' AS DATE) AS day,
  CAST(filings.report_date AT TIME ZONE 'UTC' AS DATE) AS report_date,
  date_diff('day', filings.report_date AT TIME ZONE 'UTC', filings.filing_date AT TIME ZONE 'UTC') AS days_to_file,
  filings.fiscal_year,
  filings.quarter,
  filings.accession_number,
  filings.url,
  filings.full_content IS NOT NULL AS has_content
FROM main.filings AS filings
LEFT JOIN main.companies AS companies ON companies.id = filings.company_id
LEFT JOIN tracked ON tracked.company_id = filings.company_id;

COMMENT ON VIEW marts.filing_timeline IS 'Regulatory filings with the company that filed. One row per company and filing.';
COMMENT ON COLUMN marts.filing_timeline.company_id IS 'Company: companies.id.';
COMMENT ON COLUMN marts.filing_timeline.filing_id IS 'Filing: filings.id.';
COMMENT ON COLUMN marts.filing_timeline.company_name IS 'Name of the company.';
COMMENT ON COLUMN marts.filing_timeline.account_id IS 'Account on this company (the lowest id of several); NULL when none is tracked.';
COMMENT ON COLUMN marts.filing_timeline.type IS 'Form, such as 10-K.';
COMMENT ON COLUMN marts.filing_timeline.filing_date IS 'Day it was filed.';
COMMENT ON COLUMN marts.filing_timeline.day IS 'The same, under the name that other timelines use.';
COMMENT ON COLUMN marts.filing_timeline.report_date IS 'Last day of the period it reports on.';
COMMENT ON COLUMN marts.filing_timeline.days_to_file IS 'Days from the end of the period to the filing.';
COMMENT ON COLUMN marts.filing_timeline.fiscal_year IS 'Fiscal year.';
COMMENT ON COLUMN marts.filing_timeline.quarter IS 'Fiscal quarter.';
COMMENT ON COLUMN marts.filing_timeline.accession_number IS 'Accession number.';
COMMENT ON COLUMN marts.filing_timeline.url IS 'Address of the filing.';
COMMENT ON COLUMN marts.filing_timeline.has_content IS 'Whether the mirror holds the full text (opt-in content).';
