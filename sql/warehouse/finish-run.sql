-- Purpose: records how a run ended.
-- Parameters: run_id, status, finished_at, summary, error. Readers: src/warehouse/file/warehouse.ts.
UPDATE sync.runs SET status = $2, finished_at = $3, summary = $4, error = $5 WHERE run_id = $1;
