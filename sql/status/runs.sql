-- Purpose: runs for the timeline with their cost and forecast. Grain: one row per run, newest first.
-- Parameters: only runs started before this instant (NULL: all), number of runs. Readers: src/warehouse/read/read-run.ts.
WITH chosen AS (
  SELECT run_id, mode, status, started_at, finished_at, forecast, summary, error
  FROM sync.runs
  WHERE $1 IS NULL OR started_at < $1
  ORDER BY started_at DESC, run_id DESC
  LIMIT $2
),
costs AS (
  SELECT
    run_id,
    count(*) AS requests,
    count(*) FILTER (charge = 'spent') AS credits,
    count(*) FILTER (charge = 'ambiguous') AS ambiguous,
    count(*) FILTER (status IS DISTINCT FROM 200) AS failed_requests
  FROM sync.requests
  WHERE run_id IN (SELECT run_id FROM chosen)
  GROUP BY run_id
)
SELECT
  chosen.run_id,
  chosen.mode,
  chosen.status,
  chosen.started_at,
  chosen.finished_at,
  chosen.error,
  -- Only a verification counts them.
  try_cast(chosen.summary ->> '$.differences' AS BIGINT) AS differences,
  -- Of a forecast that is a lower bound, or a range, no number is shown.
  CASE
    WHEN try_cast(chosen.forecast ->> '$.atLeast' AS BOOLEAN) IS NOT TRUE THEN try_cast(chosen.forecast ->> '$.requests' AS BIGINT)
  END AS forecast_requests,
  coalesce(costs.requests, 0) AS requests,
  coalesce(costs.credits, 0) AS credits,
  coalesce(costs.ambiguous, 0) AS ambiguous,
  coalesce(costs.failed_requests, 0) AS failed_requests
FROM chosen
LEFT JOIN costs ON costs.run_id = chosen.run_id
ORDER BY chosen.started_at DESC, chosen.run_id DESC;
