-- Purpose: records the start of a run. A run id that exists already (a second start after a crash) starts again.
-- Parameters: run_id, mode, started_at, forecast. Readers: src/warehouse/load/changes.ts.
INSERT INTO sync.runs (run_id, mode, status, started_at, forecast) VALUES ($1, $2, 'running', $3, $4)
ON CONFLICT (run_id) DO UPDATE SET mode = excluded.mode, status = 'running', started_at = excluded.started_at,
  forecast = excluded.forecast, finished_at = NULL, summary = NULL, error = NULL;
