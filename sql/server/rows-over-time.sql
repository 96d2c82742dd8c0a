-- Purpose: number of rows of the larger tables over time. Grain: one row per table and hour (or day) in which a row
-- was added or deleted; row_count is the number at its end. A deleted row counts from its insertion to its deletion.
-- Parameters: length of an hour or a day in ms (whole numbers, because truncating a million times by the calendar
-- took a second). Readers: src/server/figures/overview.ts.
WITH changes AS (
  -- each table (lists), joined by UNION ALL
  SELECT '{table}' AS table_name, epoch_ms(_first_synced_at) // $1 AS bucket, count(*) AS change FROM main.{table} GROUP BY 2
  UNION ALL
  SELECT '{table}', epoch_ms(_first_synced_at) // $1, count(*) FROM history.{table} WHERE change = 'delete' GROUP BY 2
  UNION ALL
  SELECT '{table}', epoch_ms(valid_to) // $1, -count(*) FROM history.{table} WHERE change = 'delete' GROUP BY 2
  -- end
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
