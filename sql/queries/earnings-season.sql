-- Question: which of our accounts held an earnings call lately, and when is the next one due?
-- Answer: one row per company with calls, the next expected first.
-- Readers: account executives.
SELECT company_name, stock_symbol, account_id, happened_at AS last_call_at, year, quarter, next_expected_on, report_url
FROM marts.earnings_calendar
WHERE is_latest
ORDER BY next_expected_on, company_name;
