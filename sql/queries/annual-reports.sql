-- Question: which annual and quarterly reports are there to read before a meeting?
-- Answer: one row per company: its latest 10-K, 10-Q, 20-F or 40-F.
-- Readers: account executives.
SELECT company_name, account_id, type, fiscal_year, quarter, filing_date, url
FROM marts.filing_timeline
WHERE type IN ('10-K', '10-Q', '20-F', '40-F')
QUALIFY row_number() OVER (PARTITION BY company_id, type ORDER BY filing_date DESC NULLS LAST, filing_id DESC) = 1
ORDER BY filing_date DESC NULLS LAST, company_name, type;
