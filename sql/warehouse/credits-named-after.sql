-- Purpose: credits of all runs whose id equals, or starts with, a given id; requests whose charge is unknown count.
-- Grain: one row. Parameters: run_id. Readers: src/warehouse/read/read-run.ts.
SELECT (coalesce(sum(credits), 0) + count(*) FILTER (WHERE charge = 'ambiguous'))::INTEGER AS credits
FROM sync.requests
WHERE run_id = $1 OR starts_with(run_id, $1 || '-');
