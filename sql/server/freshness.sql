-- Purpose: rows and worst-case age of every table. Grain: one row per mirrored table. Ages are told as instants: the
-- snapshot is read long after it was written. Profiles of tracked companies come embedded in their accounts: where no
-- company was ever looked at by itself they are as fresh as those. Readers: src/server/figures/overview.ts, src/server/metrics.ts.
WITH freshness AS (
  SELECT
    table_name, stream, row_count, last_change_at, last_checked_at, oldest_checked_at, oldest_walked_at,
    scopes, unchecked_scopes, failed_scopes, error,
    table_name = 'companies' AND scopes = 0 AND row_count > 0 AS embedded
  FROM marts.freshness
),
accounts AS (
  SELECT last_checked_at, oldest_checked_at, oldest_walked_at FROM freshness WHERE table_name = 'accounts'
)
SELECT
  freshness.table_name,
  freshness.stream,
  freshness.row_count,
  freshness.last_change_at,
  CASE WHEN freshness.embedded THEN accounts.last_checked_at ELSE freshness.last_checked_at END AS last_checked_at,
  CASE WHEN freshness.embedded THEN accounts.oldest_checked_at ELSE freshness.oldest_checked_at END AS oldest_checked_at,
  CASE WHEN freshness.embedded THEN accounts.oldest_walked_at ELSE freshness.oldest_walked_at END AS oldest_walked_at,
  freshness.scopes,
  freshness.unchecked_scopes,
  freshness.failed_scopes,
  freshness.error
FROM freshness
CROSS JOIN accounts
ORDER BY list_position(
  ['accounts', 'contacts', 'signals', 'signal_counts', 'companies', 'news_articles', 'job_openings', 'earnings_calls',
    'filings', 'account_insights', 'owners', 'company_inputs'],
  freshness.table_name
) NULLS LAST, freshness.table_name;
