-- Purpose: rows written by the runs of one sync, counted from the rows themselves, because a killed run has no report.
-- Rows from no list (owners, inputs) count for no stream, as in reports. Grain: one row per run and stream with written
-- rows. Parameters: id of the sync. Readers: src/warehouse/read/read-run.ts.
WITH mine AS (
  SELECT run_id, started_at, finished_at
  FROM sync.runs
  WHERE run_id = $1 OR starts_with(run_id, $1 || '-')
),
versions AS (
  SELECT 'accounts' AS stream, _run_id, _first_synced_at, _synced_at FROM main.accounts
  UNION ALL
  SELECT 'accounts' AS stream, _run_id, _first_synced_at, _synced_at FROM history.accounts
  UNION ALL
  SELECT 'contacts' AS stream, _run_id, _first_synced_at, _synced_at FROM main.contacts
  UNION ALL
  SELECT 'contacts' AS stream, _run_id, _first_synced_at, _synced_at FROM history.contacts
  UNION ALL
  SELECT 'signals' AS stream, _run_id, _first_synced_at, _synced_at FROM main.signals
  UNION ALL
  SELECT 'signals' AS stream, _run_id, _first_synced_at, _synced_at FROM history.signals
  UNION ALL
  SELECT 'signal_counts' AS stream, _run_id, _first_synced_at, _synced_at FROM main.signal_counts
  UNION ALL
  SELECT 'signal_counts' AS stream, _run_id, _first_synced_at, _synced_at FROM history.signal_counts
  UNION ALL
  SELECT 'companies' AS stream, _run_id, _first_synced_at, _synced_at FROM main.companies
  UNION ALL
  SELECT 'companies' AS stream, _run_id, _first_synced_at, _synced_at FROM history.companies
  UNION ALL
  SELECT 'news_articles' AS stream, _run_id, _first_synced_at, _synced_at FROM main.news_articles
  UNION ALL
  SELECT 'news_articles' AS stream, _run_id, _first_synced_at, _synced_at FROM history.news_articles
  UNION ALL
  SELECT 'job_openings' AS stream, _run_id, _first_synced_at, _synced_at FROM main.job_openings
  UNION ALL
  SELECT 'job_openings' AS stream, _run_id, _first_synced_at, _synced_at FROM history.job_openings
  UNION ALL
  SELECT 'earnings_calls' AS stream, _run_id, _first_synced_at, _synced_at FROM main.earnings_calls
  UNION ALL
  SELECT 'earnings_calls' AS stream, _run_id, _first_synced_at, _synced_at FROM history.earnings_calls
  UNION ALL
  SELECT 'filings' AS stream, _run_id, _first_synced_at, _synced_at FROM main.filings
  UNION ALL
  SELECT 'filings' AS stream, _run_id, _first_synced_at, _synced_at FROM history.filings
  UNION ALL
  SELECT 'account_insights' AS stream, _run_id, _first_synced_at, _synced_at FROM main.account_insights
  UNION ALL
  SELECT 'account_insights' AS stream, _run_id, _first_synced_at, _synced_at FROM history.account_insights
  UNION ALL
  SELECT 'usage' AS stream, _run_id, _first_synced_at, _synced_at FROM main.usage_snapshots
  UNION ALL
  SELECT 'usage' AS stream, _run_id, _first_synced_at, _synced_at FROM history.usage_snapshots
  UNION ALL
  SELECT 'usage' AS stream, _run_id, _first_synced_at, _synced_at FROM main.usage_breakdown
  UNION ALL
  SELECT 'usage' AS stream, _run_id, _first_synced_at, _synced_at FROM history.usage_breakdown
  UNION ALL
  SELECT 'usage' AS stream, _run_id, _first_synced_at, _synced_at FROM main.usage_requests
  UNION ALL
  SELECT 'usage' AS stream, _run_id, _first_synced_at, _synced_at FROM history.usage_requests
  UNION ALL
  SELECT 'usage' AS stream, _run_id, _first_synced_at, _synced_at FROM main.usage_limits
  UNION ALL
  SELECT 'usage' AS stream, _run_id, _first_synced_at, _synced_at FROM history.usage_limits
),
deletions AS (
  SELECT 'accounts' AS stream, valid_to FROM history.accounts WHERE change = 'delete'
  UNION ALL
  SELECT 'contacts' AS stream, valid_to FROM history.contacts WHERE change = 'delete'
  UNION ALL
  SELECT 'signals' AS stream, valid_to FROM history.signals WHERE change = 'delete'
  UNION ALL
  SELECT 'signal_counts' AS stream, valid_to FROM history.signal_counts WHERE change = 'delete'
  UNION ALL
  SELECT 'companies' AS stream, valid_to FROM history.companies WHERE change = 'delete'
  UNION ALL
  SELECT 'news_articles' AS stream, valid_to FROM history.news_articles WHERE change = 'delete'
  UNION ALL
  SELECT 'job_openings' AS stream, valid_to FROM history.job_openings WHERE change = 'delete'
  UNION ALL
  SELECT 'earnings_calls' AS stream, valid_to FROM history.earnings_calls WHERE change = 'delete'
  UNION ALL
  SELECT 'filings' AS stream, valid_to FROM history.filings WHERE change = 'delete'
  UNION ALL
  SELECT 'account_insights' AS stream, valid_to FROM history.account_insights WHERE change = 'delete'
  UNION ALL
  SELECT 'usage' AS stream, valid_to FROM history.usage_snapshots WHERE change = 'delete'
  UNION ALL
  SELECT 'usage' AS stream, valid_to FROM history.usage_breakdown WHERE change = 'delete'
  UNION ALL
  SELECT 'usage' AS stream, valid_to FROM history.usage_requests WHERE change = 'delete'
  UNION ALL
  SELECT 'usage' AS stream, valid_to FROM history.usage_limits WHERE change = 'delete'
),
changes AS (
  SELECT run_id, stream, (_synced_at = _first_synced_at)::INTEGER AS inserted, (_synced_at > _first_synced_at)::INTEGER AS updated, 0 AS deleted, 0 AS rejected
  FROM versions
  JOIN mine ON mine.run_id = versions._run_id
  UNION ALL
  SELECT run_id, stream, 0, 0, 1, 0
  FROM deletions
  JOIN mine ON valid_to BETWEEN started_at AND finished_at
  UNION ALL
  SELECT run_id, stream, 0, 0, 0, 1
  FROM sync.rejects
  JOIN mine USING (run_id)
)
SELECT
  run_id,
  stream,
  sum(inserted) AS inserted,
  sum(updated) AS updated,
  sum(deleted) AS deleted,
  sum(rejected) AS rejected
FROM changes
GROUP BY ALL
ORDER BY ALL;
