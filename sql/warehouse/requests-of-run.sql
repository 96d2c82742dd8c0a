-- Purpose: requests of a run that are committed. Grain: one row per HTTP call.
-- Parameters: run_id. Readers: src/warehouse/file/warehouse.ts.
SELECT request_id FROM sync.requests WHERE run_id = $1;
