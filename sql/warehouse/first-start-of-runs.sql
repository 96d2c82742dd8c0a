-- Purpose: when the first run started whose id equals, or starts with, a given id. Grain: one row; NULL without one.
-- Parameters: run_id. Readers: src/warehouse/read/read-run.ts.
SELECT min(started_at) AS started_at
FROM sync.runs
WHERE run_id = $1 OR starts_with(run_id, $1 || '-');
