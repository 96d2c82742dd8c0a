-- Purpose: requests of a run, failed ones first. Grain: one row per HTTP call.
-- Parameters: run_id, stream (NULL: all), number of rows, rows to skip. Readers: src/server/figures/run-detail.ts.
SELECT
  request_id, stream, scope, endpoint, url, status, charge, started_at, duration_ms, bytes, "rows", attempt, error,
  service_request_id, api_version
FROM sync.requests
WHERE run_id = $1 AND ($2 IS NULL OR stream = $2)
ORDER BY status IS NOT DISTINCT FROM 200, started_at, request_id
LIMIT $3 OFFSET $4;
