-- Purpose: earnings calls held and announced, and when the next one may be expected.
-- Grain: one row per company and earnings call.
-- Readers: analysts, calendars, marts.account_360.
CREATE OR REPLACE VIEW marts.earnings_calendar AS
WITH calls AS (
  SELECT
    company_id, id, stock_symbol, year, quarter, happened_at, audio_url, report_url, presentation_url,
    full_transcript IS NOT NULL AS has_transcript,
    generated_analysis IS NOT NULL AS has_analysis,
    lag(happened_at) OVER calls_of_company AS previous_call_at,
    lead(happened_at) OVER calls_of_company AS next_call_at
  FROM main.earnings_calls
  WINDOW calls_of_company AS (PARTITION BY company_id ORDER BY happened_at NULLS FIRST, id)
),
tracked AS (
  SELECT company_id, min(id) AS account_id FROM main.accounts WHERE company_id IS NOT NULL GROUP BY company_id
)
SELECT
  calls.company_id,
  calls.id AS earnings_call_id,
  companies.name AS company_name,
  coalesce(calls.stock_symbol, companies.main_stock_symbol) AS stock_symbol,
  tracked.account_id,
  calls.year,
  calls.quarter,
  calls.happened_at,
  CAST(calls.happened_at AT TIME ZONE 'UTC' AS DATE) AS day,
  coalesce(calls.happened_at > now(), false) AS is_upcoming,
  calls.happened_at IS NOT NULL AND calls.next_call_at IS NULL AS is_latest,
  calls.previous_call_at,
  CASE
    WHEN calls.next_call_at IS NULL THEN CAST((calls.happened_at AT TIME ZONE 'UTC') + INTERVAL 91 DAY AS DATE)
  END AS next_expected_on,
  calls.has_transcript,
  calls.has_analysis,
  calls.audio_url,
  calls.report_url,
  calls.presentation_url
FROM calls
LEFT JOIN main.companies AS companies ON companies.id = calls.company_id
LEFT JOIN tracked ON tracked.company_id = calls.company_id;

COMMENT ON VIEW marts.earnings_calendar IS 'Earnings calls held and announced. One row per company and earnings call.';
COMMENT ON COLUMN marts.earnings_calendar.company_id IS 'Company: companies.id.';
COMMENT ON COLUMN marts.earnings_calendar.earnings_call_id IS 'Earnings call: earnings_calls.id.';
COMMENT ON COLUMN marts.earnings_calendar.company_name IS 'Name of the company.';
COMMENT ON COLUMN marts.earnings_calendar.stock_symbol IS 'Stock symbol of the call, else of the company.';
COMMENT ON COLUMN marts.earnings_calendar.account_id IS 'Account on this company (the lowest id of several); NULL when none is tracked.';
COMMENT ON COLUMN marts.earnings_calendar.year IS 'Fiscal year.';
COMMENT ON COLUMN marts.earnings_calendar.quarter IS 'Fiscal quarter.';
COMMENT ON COLUMN marts.earnings_calendar.happened_at IS 'When the call is or was held.';
COMMENT ON COLUMN marts.earnings_calendar.day IS 'Day of the call, UTC.';
COMMENT ON COLUMN marts.earnings_calendar.is_upcoming IS 'Whether the call lies in the future, at the moment of the query.';
COMMENT ON COLUMN marts.earnings_calendar.is_latest IS 'Whether this is the last call of the company that has a date.';
COMMENT ON COLUMN marts.earnings_calendar.previous_call_at IS 'When the call before was held.';
COMMENT ON COLUMN marts.earnings_calendar.next_expected_on IS 'An estimate, only in the row of the latest call: 13 weeks after it.';
COMMENT ON COLUMN marts.earnings_calendar.has_transcript IS 'Whether the mirror holds the transcript (opt-in content).';
COMMENT ON COLUMN marts.earnings_calendar.has_analysis IS 'Whether the mirror holds the generated analysis (opt-in content).';
COMMENT ON COLUMN marts.earnings_calendar.audio_url IS 'Address of the recording.';
COMMENT ON COLUMN marts.earnings_calendar.report_url IS 'Address of the report.';
COMMENT ON COLUMN marts.earnings_calendar.presentation_url IS 'Address of the presentation.';
