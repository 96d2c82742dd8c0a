-- Purpose: runs whose id equals, or starts with, a given id. Grain: one row per run. Parameters: run_id.
-- Readers: src/warehouse/read/read-run.ts.
SELECT run_id
FROM sync.runs
WHERE run_id = $1 OR starts_with(run_id, $1 || '-');
