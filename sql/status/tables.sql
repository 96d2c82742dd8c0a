-- Purpose: rows of each table and time of its last change. Grain: one row per table of the contract.
-- Readers: src/warehouse/read/read-status.ts.
SELECT 0 AS place, 'accounts' AS table_name, count(*) AS row_count, max(_synced_at) AS last_change_at FROM main.accounts
UNION ALL
SELECT 1, 'owners', count(*), max(_synced_at) FROM main.owners
UNION ALL
SELECT 2, 'contacts', count(*), max(_synced_at) FROM main.contacts
UNION ALL
SELECT 3, 'signals', count(*), max(_synced_at) FROM main.signals
UNION ALL
SELECT 4, 'signal_counts', count(*), max(_synced_at) FROM main.signal_counts
UNION ALL
SELECT 5, 'companies', count(*), max(_synced_at) FROM main.companies
UNION ALL
SELECT 6, 'company_inputs', count(*), max(_synced_at) FROM main.company_inputs
UNION ALL
SELECT 7, 'news_articles', count(*), max(_synced_at) FROM main.news_articles
UNION ALL
SELECT 8, 'job_openings', count(*), max(_synced_at) FROM main.job_openings
UNION ALL
SELECT 9, 'earnings_calls', count(*), max(_synced_at) FROM main.earnings_calls
UNION ALL
SELECT 10, 'filings', count(*), max(_synced_at) FROM main.filings
UNION ALL
SELECT 11, 'account_insights', count(*), max(_synced_at) FROM main.account_insights
UNION ALL
SELECT 12, 'usage_snapshots', count(*), max(_synced_at) FROM main.usage_snapshots
UNION ALL
SELECT 13, 'usage_breakdown', count(*), max(_synced_at) FROM main.usage_breakdown
UNION ALL
SELECT 14, 'usage_requests', count(*), max(_synced_at) FROM main.usage_requests
UNION ALL
SELECT 15, 'usage_limits', count(*), max(_synced_at) FROM main.usage_limits
ORDER BY place;
