-- Purpose: forecasts of the last syncs and what they spent. Grain: one row per sync that ended, newest first.
-- Parameters: number of syncs. Readers: src/warehouse/read/read-status.ts.
SELECT
  run_id,
  started_at,
  CAST(summary ->> '$.forecast.credits' AS BIGINT) AS credits,
  CAST(summary ->> '$.forecast.spent' AS BIGINT) AS spent,
  CAST(summary ->> '$.forecast.at_least' AS BOOLEAN) AS at_least,
  CAST(summary ->> '$.forecast.error_percent' AS DOUBLE) AS error_percent
FROM sync.runs
WHERE mode IN ('full', 'incremental') AND (summary ->> '$.forecast.credits') IS NOT NULL
ORDER BY started_at DESC, run_id DESC
LIMIT $1;
