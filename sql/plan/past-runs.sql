-- Purpose: the latest syncs that did all due work, with their forecast and report. Grain: one row per run, newest first.
-- Parameters: $1 number of runs. Readers: src/sync/plan/forecast/past-runs.ts.
SELECT CAST(forecast AS VARCHAR) AS forecast, CAST(summary AS VARCHAR) AS summary
FROM sync.runs
WHERE mode IN ('full', 'incremental') AND status = 'done' AND forecast IS NOT NULL AND summary IS NOT NULL
ORDER BY started_at DESC
LIMIT $1;
