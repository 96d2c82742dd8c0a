-- Purpose: number of rows of the larger tables over time. Grain: one row per table and hour (or day) in which a row
-- was added or deleted; row_count is the number at its end. A deleted row counts from its insertion to its deletion.
-- Parameters: length of an hour or a day in ms (whole numbers, because truncating a million times by the calendar
-- took a second). Readers: src/server/figures/overview.ts.
WITH changes AS (
  SELECT 'accounts' AS table_name, epoch_ms(_first_synced_at) // $1 AS bucket, count(*) AS change FROM main.accounts GROUP BY 2
  UNION ALL
  SELECT 'accounts', epoch_ms(_first_synced_at) // $1, count(*) FROM history.accounts WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'accounts', epoch_ms(valid_to) // $1, -count(*) FROM history.accounts WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'contacts' AS table_name, epoch_ms(_first_synced_at) // $1 AS bucket, count(*) AS change FROM main.contacts GROUP BY 2
  UNION ALL
  SELECT 'contacts', epoch_ms(_first_synced_at) // $1, count(*) FROM history.contacts WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'contacts', epoch_ms(valid_to) // $1, -count(*) FROM history.contacts WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'signals' AS table_name, epoch_ms(_first_synced_at) // $1 AS bucket, count(*) AS change FROM main.signals GROUP BY 2
  UNION ALL
  SELECT 'signals', epoch_ms(_first_synced_at) // $1, count(*) FROM history.signals WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'signals', epoch_ms(valid_to) // $1, -count(*) FROM history.signals WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'companies' AS table_name, epoch_ms(_first_synced_at) // $1 AS bucket, count(*) AS change FROM main.companies GROUP BY 2
  UNION ALL
  SELECT 'companies', epoch_ms(_first_synced_at) // $1, count(*) FROM history.companies WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'companies', epoch_ms(valid_to) // $1, -count(*) FROM history.companies WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'news_articles' AS table_name, epoch_ms(_first_synced_at) // $1 AS bucket, count(*) AS change FROM main.news_articles GROUP BY 2
  UNION ALL
  SELECT 'news_articles', epoch_ms(_first_synced_at) // $1, count(*) FROM history.news_articles WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'news_articles', epoch_ms(valid_to) // $1, -count(*) FROM history.news_articles WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'job_openings' AS table_name, epoch_ms(_first_synced_at) // $1 AS bucket, count(*) AS change FROM main.job_openings GROUP BY 2
  UNION ALL
  SELECT 'job_openings', epoch_ms(_first_synced_at) // $1, count(*) FROM history.job_openings WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'job_openings', epoch_ms(valid_to) // $1, -count(*) FROM history.job_openings WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'earnings_calls' AS table_name, epoch_ms(_first_synced_at) // $1 AS bucket, count(*) AS change FROM main.earnings_calls GROUP BY 2
  UNION ALL
  SELECT 'earnings_calls', epoch_ms(_first_synced_at) // $1, count(*) FROM history.earnings_calls WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'earnings_calls', epoch_ms(valid_to) // $1, -count(*) FROM history.earnings_calls WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'filings' AS table_name, epoch_ms(_first_synced_at) // $1 AS bucket, count(*) AS change FROM main.filings GROUP BY 2
  UNION ALL
  SELECT 'filings', epoch_ms(_first_synced_at) // $1, count(*) FROM history.filings WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT 'filings', epoch_ms(valid_to) // $1, -count(*) FROM history.filings WHERE change = 'delete' GROUP BY 2
),
moments AS (
  SELECT table_name, bucket, sum(change) AS change
  FROM changes
  WHERE bucket IS NOT NULL
  GROUP BY ALL
)
SELECT
  table_name,
  bucket * $1 AS moment,
  (sum(change) OVER (PARTITION BY table_name ORDER BY bucket))::BIGINT AS row_count
FROM moments
ORDER BY table_name, bucket;
