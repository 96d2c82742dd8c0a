-- Purpose: number of mirrored rows per list. Grain: one row per stream and scope ('' for the organization).
-- Readers: src/sync/plan/mirror-view.ts.
SELECT 'accounts' AS stream, '' AS scope, count(*) AS rows FROM main.accounts
UNION ALL
SELECT 'contacts' AS stream, '' AS scope, count(*) AS rows FROM main.contacts
UNION ALL
SELECT 'signals' AS stream, '' AS scope, count(*) AS rows FROM main.signals
UNION ALL
SELECT 'usage' AS stream, 'requests' AS scope, count(*) AS rows FROM main.usage_requests
UNION ALL
SELECT 'news_articles' AS stream, company_id AS scope, count(*) AS rows FROM main.news_articles GROUP BY company_id
UNION ALL
SELECT 'job_openings' AS stream, company_id AS scope, count(*) AS rows FROM main.job_openings GROUP BY company_id
UNION ALL
SELECT 'earnings_calls' AS stream, company_id AS scope, count(*) AS rows FROM main.earnings_calls GROUP BY company_id
UNION ALL
SELECT 'filings' AS stream, company_id AS scope, count(*) AS rows FROM main.filings GROUP BY company_id
