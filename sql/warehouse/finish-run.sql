-- Purpose: records the end of a run.
-- Parameters: run_id, status, finished_at, summary, error. Readers: src/warehouse/load/changes.ts.
UPDATE sync.runs SET status = $2, finished_at = $3, summary = $4, error = $5 WHERE run_id = $1;
