-- Purpose: one run and its report. Grain: one row, or none. Parameters: run_id. Readers: src/warehouse/read/read-run.ts.
SELECT status, started_at, summary, error
FROM sync.runs
WHERE run_id = $1;
