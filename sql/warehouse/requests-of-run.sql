-- Purpose: committed requests of a run. Grain: one row per HTTP call.
-- Parameters: run_id. Readers: src/warehouse/file/warehouse.ts.
SELECT request_id FROM sync.requests WHERE run_id = $1;
