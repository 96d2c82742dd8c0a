-- Purpose: a run that found nothing new, as it is kept beside the snapshot. Grain: one row, or none. Parameters: run_id.
-- Readers: src/warehouse/file/publish-if-changed.ts.
SELECT
  run_id,
  any_value(mode) AS mode,
  any_value(runs.status) AS status,
  any_value(runs.started_at) AS started_at,
  any_value(finished_at) AS finished_at,
  any_value(runs.error) AS error,
  any_value(summary) AS summary,
  -- Of a forecast that is a lower bound, or a range, no number is shown.
  any_value(
    CASE
      WHEN try_cast(forecast ->> '$.atLeast' AS BOOLEAN) IS NOT TRUE THEN try_cast(forecast ->> '$.requests' AS BIGINT)
    END
  ) AS forecast_requests,
  count(request_id) AS requests,
  count(*) FILTER (charge = 'spent') AS credits,
  count(*) FILTER (request_id IS NOT NULL AND requests.status IS DISTINCT FROM 200) AS failed_requests
FROM sync.runs AS runs
LEFT JOIN sync.requests AS requests USING (run_id)
WHERE run_id = $1
GROUP BY run_id;
