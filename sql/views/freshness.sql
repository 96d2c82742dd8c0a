-- Purpose: how much each table holds and how old it is. Reads the clock: ages are those at the moment of the query.
-- Grain: one row per mirrored table. Several tables can come from one stream and then share its checks.
-- Readers: operators, alerts, dbt source freshness.
CREATE OR REPLACE VIEW marts.freshness AS
WITH tables AS (
  SELECT 'accounts' AS table_name, 'accounts' AS stream, count(*) AS row_count, max(_synced_at) AS last_change_at FROM main.accounts
  UNION ALL
  SELECT 'owners', 'accounts', count(*), max(_synced_at) FROM main.owners
  UNION ALL
  SELECT 'contacts', 'contacts', count(*), max(_synced_at) FROM main.contacts
  UNION ALL
  SELECT 'signals', 'signals', count(*), max(_synced_at) FROM main.signals
  UNION ALL
  SELECT 'signal_counts', 'signal_counts', count(*), max(_synced_at) FROM main.signal_counts
  UNION ALL
  SELECT 'companies', 'companies', count(*), max(_synced_at) FROM main.companies
  UNION ALL
  SELECT 'company_inputs', 'companies', count(*), max(_synced_at) FROM main.company_inputs
  UNION ALL
  SELECT 'news_articles', 'news_articles', count(*), max(_synced_at) FROM main.news_articles
  UNION ALL
  SELECT 'job_openings', 'job_openings', count(*), max(_synced_at) FROM main.job_openings
  UNION ALL
  SELECT 'earnings_calls', 'earnings_calls', count(*), max(_synced_at) FROM main.earnings_calls
  UNION ALL
  SELECT 'filings', 'filings', count(*), max(_synced_at) FROM main.filings
  UNION ALL
  SELECT 'account_insights', 'account_insights', count(*), max(_synced_at) FROM main.account_insights
  UNION ALL
  SELECT 'usage_snapshots', 'usage', count(*), max(_synced_at) FROM main.usage_snapshots
  UNION ALL
  SELECT 'usage_breakdown', 'usage', count(*), max(_synced_at) FROM main.usage_breakdown
  UNION ALL
  SELECT 'usage_requests', 'usage', count(*), max(_synced_at) FROM main.usage_requests
  UNION ALL
  SELECT 'usage_limits', 'usage', count(*), max(_synced_at) FROM main.usage_limits
),
streams AS (
  SELECT
    stream,
    count(*) AS scopes,
    count(*) FILTER (status = 'failed') AS failed_scopes,
    count(*) FILTER (checked_at IS NULL) AS unchecked_scopes,
    max(checked_at) AS last_checked_at,
    min(checked_at) AS oldest_checked_at,
    min(walked_at) AS oldest_walked_at,
    max(error) AS error
  FROM sync.stream_state
  GROUP BY stream
)
SELECT
  tables.table_name,
  tables.stream,
  tables.row_count,
  tables.last_change_at,
  streams.last_checked_at,
  streams.oldest_checked_at,
  round((epoch(now()) - epoch(streams.oldest_checked_at)) / 3600, 2) AS hours_behind,
  streams.oldest_walked_at,
  coalesce(streams.scopes, 0) AS scopes,
  coalesce(streams.unchecked_scopes, 0) AS unchecked_scopes,
  coalesce(streams.failed_scopes, 0) AS failed_scopes,
  streams.error
FROM tables
LEFT JOIN streams ON streams.stream = tables.stream;

COMMENT ON VIEW marts.freshness IS 'How much each table holds and how old it is. One row per mirrored table.';
COMMENT ON COLUMN marts.freshness.table_name IS 'Table in schema main.';
COMMENT ON COLUMN marts.freshness.stream IS 'Stream that fills it, as `duckmirror sync` names it.';
COMMENT ON COLUMN marts.freshness.row_count IS 'Rows.';
COMMENT ON COLUMN marts.freshness.last_change_at IS 'When a row last changed; rows that stay as they are do not count.';
COMMENT ON COLUMN marts.freshness.last_checked_at IS 'When any part of the stream was last compared with the service; NULL: never.';
COMMENT ON COLUMN marts.freshness.oldest_checked_at IS 'The same for the part that is furthest behind.';
COMMENT ON COLUMN marts.freshness.hours_behind IS 'Hours since oldest_checked_at, at the moment of the query.';
COMMENT ON COLUMN marts.freshness.oldest_walked_at IS 'When the part that is furthest behind was last read completely.';
COMMENT ON COLUMN marts.freshness.scopes IS 'Parts of the stream: the organization, or each company, account or input.';
COMMENT ON COLUMN marts.freshness.unchecked_scopes IS 'Parts never checked yet.';
COMMENT ON COLUMN marts.freshness.failed_scopes IS 'Parts whose last check failed.';
COMMENT ON COLUMN marts.freshness.error IS 'One of the failures.';
