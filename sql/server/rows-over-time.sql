-- Purpose: how many rows the larger tables held over time. Grain: one row per table and hour or day in which a row was
-- added or deleted; row_count is what the table held at its end. A deleted row counts from when it came to when it went.
-- Parameters: hour or day. Readers: src/server/overview.ts.
WITH changes AS (
  SELECT 'accounts' AS table_name, date_trunc($1, _first_synced_at) AS moment, count(*) AS change FROM main.accounts GROUP BY 2
  UNION ALL
  SELECT 'accounts', date_trunc($1, _first_synced_at), count(*) FROM history.accounts WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'accounts', date_trunc($1, valid_to), -count(*) FROM history.accounts WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'contacts' AS table_name, date_trunc($1, _first_synced_at) AS moment, count(*) AS change FROM main.contacts GROUP BY 2
  UNION ALL
  SELECT 'contacts', date_trunc($1, _first_synced_at), count(*) FROM history.contacts WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'contacts', date_trunc($1, valid_to), -count(*) FROM history.contacts WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'signals' AS table_name, date_trunc($1, _first_synced_at) AS moment, count(*) AS change FROM main.signals GROUP BY 2
  UNION ALL
  SELECT 'signals', date_trunc($1, _first_synced_at), count(*) FROM history.signals WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'signals', date_trunc($1, valid_to), -count(*) FROM history.signals WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'companies' AS table_name, date_trunc($1, _first_synced_at) AS moment, count(*) AS change FROM main.companies GROUP BY 2
  UNION ALL
  SELECT 'companies', date_trunc($1, _first_synced_at), count(*) FROM history.companies WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'companies', date_trunc($1, valid_to), -count(*) FROM history.companies WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'news_articles' AS table_name, date_trunc($1, _first_synced_at) AS moment, count(*) AS change FROM main.news_articles GROUP BY 2
  UNION ALL
  SELECT 'news_articles', date_trunc($1, _first_synced_at), count(*) FROM history.news_articles WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'news_articles', date_trunc($1, valid_to), -count(*) FROM history.news_articles WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'job_openings' AS table_name, date_trunc($1, _first_synced_at) AS moment, count(*) AS change FROM main.job_openings GROUP BY 2
  UNION ALL
  SELECT 'job_openings', date_trunc($1, _first_synced_at), count(*) FROM history.job_openings WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'job_openings', date_trunc($1, valid_to), -count(*) FROM history.job_openings WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'earnings_calls' AS table_name, date_trunc($1, _first_synced_at) AS moment, count(*) AS change FROM main.earnings_calls GROUP BY 2
  UNION ALL
  SELECT 'earnings_calls', date_trunc($1, _first_synced_at), count(*) FROM history.earnings_calls WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'earnings_calls', date_trunc($1, valid_to), -count(*) FROM history.earnings_calls WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'filings' AS table_name, date_trunc($1, _first_synced_at) AS moment, count(*) AS change FROM main.filings GROUP BY 2
  UNION ALL
  SELECT 'filings', date_trunc($1, _first_synced_at), count(*) FROM history.filings WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'filings', date_trunc($1, valid_to), -count(*) FROM history.filings WHERE change = 'delete' GROUP BY 2
),
moments AS (
  SELECT table_name, moment, sum(change) AS change
  FROM changes
  WHERE moment IS NOT NULL
  GROUP BY ALL
)
SELECT
  table_name,
  moment,
  (sum(change) OVER (PARTITION BY table_name ORDER BY moment))::BIGINT AS row_count
FROM moments
ORDER BY table_name, moment;
