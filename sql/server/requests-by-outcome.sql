-- Purpose: requests of this mirror since it began. Grain: one row per endpoint, status and charge.
-- Readers: src/server/metrics.ts.
SELECT
  endpoint,
  coalesce(CAST(status AS VARCHAR), 'none') AS status,
  charge,
  count(*) AS requests,
  sum(duration_ms) / 1000 AS seconds,
  sum("rows")::BIGINT AS "rows",
  sum(bytes)::BIGINT AS bytes
FROM sync.requests
GROUP BY ALL
ORDER BY ALL;
