-- Purpose: the last run that has ended. Grain: at most one row. Parameters: none. Readers: src/alerts/events/conditions.ts.
SELECT run_id, status, error, started_at
FROM sync.runs
WHERE finished_at IS NOT NULL
ORDER BY started_at DESC, run_id DESC
LIMIT 1;
