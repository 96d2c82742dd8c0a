-- Purpose: the latest run of a sync or a verification: one that lost its worker ran again as `<run_id>-2`, `<run_id>-3`
-- and so on. Grain: one row, or none. Parameters: run_id. Readers: src/warehouse/read/read-run.ts.
SELECT status, started_at, summary, error
FROM sync.runs
WHERE run_id = $1 OR starts_with(run_id, $1 || '-')
ORDER BY started_at DESC, length(run_id) DESC, run_id DESC
LIMIT 1;
