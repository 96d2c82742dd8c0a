-- Purpose: requests and results of each stream of a run. Grain: one row per stream. Parameters: run_id.
-- Readers: src/server/figures/run-detail.ts.
SELECT
  stream,
  count(*) AS requests,
  count(*) FILTER (charge = 'spent') AS credits,
  count(*) FILTER (charge = 'ambiguous') AS ambiguous,
  count(*) FILTER (status IS DISTINCT FROM 200) AS failed_requests,
  sum("rows")::BIGINT AS "rows",
  sum(bytes)::BIGINT AS bytes,
  min(started_at) AS first_at,
  max(started_at + to_milliseconds(duration_ms)) AS last_at
FROM sync.requests
WHERE run_id = $1
GROUP BY stream
ORDER BY min(started_at), stream;
