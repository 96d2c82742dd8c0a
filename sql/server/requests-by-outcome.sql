-- Purpose: requests of this mirror since it began, with those that retention removed. Grain: one row per endpoint, status
-- and charge. Readers: src/server/figures/metrics.ts.
WITH all_requests AS (
  SELECT
    endpoint,
    coalesce(CAST(status AS VARCHAR), 'none') AS status,
    charge,
    count(*) AS requests,
    sum(duration_ms) AS duration_ms,
    sum("rows") AS "rows",
    sum(bytes) AS bytes
  FROM sync.requests
  GROUP BY ALL
  UNION ALL
  SELECT endpoint, status, charge, requests, duration_ms, "rows", bytes FROM sync.removed_requests
)
SELECT
  endpoint,
  status,
  charge,
  sum(requests)::BIGINT AS requests,
  sum(duration_ms) / 1000 AS seconds,
  sum("rows")::BIGINT AS "rows",
  sum(bytes)::BIGINT AS bytes
FROM all_requests
GROUP BY ALL
ORDER BY ALL;
