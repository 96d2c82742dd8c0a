-- Purpose: the last runs with their cost and forecast. Grain: one row per run, newest first.
-- Parameters: number of runs. Readers: src/warehouse/read/read-status.ts.
WITH last_runs AS (
  SELECT run_id, mode, status, started_at, finished_at, forecast, error
  FROM sync.runs
  ORDER BY started_at DESC, run_id DESC
  LIMIT $1
)
SELECT
  last_runs.run_id,
  last_runs.mode,
  last_runs.status,
  last_runs.started_at,
  last_runs.finished_at,
  last_runs.error,
  -- Of a forecast that is a lower bound, or a range, no number is shown.
  CASE
    WHEN try_cast(last_runs.forecast ->> '$.atLeast' AS BOOLEAN) IS NOT TRUE THEN try_cast(last_runs.forecast ->> '$.requests' AS BIGINT)
  END AS forecast_requests,
  count(requests.request_id) AS requests,
  count(*) FILTER (requests.charge = 'spent') AS credits,
  count(*) FILTER (requests.charge = 'ambiguous') AS ambiguous
FROM last_runs
LEFT JOIN sync.requests AS requests ON requests.run_id = last_runs.run_id
GROUP BY ALL
ORDER BY last_runs.started_at DESC, last_runs.run_id DESC;
