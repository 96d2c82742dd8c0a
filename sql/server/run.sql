-- Purpose: one run with its forecast and report. Grain: at most one row. Parameters: run_id.
-- Readers: src/server/figures/run-detail.ts.
SELECT
  run_id, mode, status, started_at, finished_at, error, CAST(forecast AS VARCHAR) AS forecast, CAST(summary AS VARCHAR) AS summary
FROM sync.runs
WHERE run_id = $1;
