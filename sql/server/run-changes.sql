-- Purpose: what a run changed in the mirror. Grain: one row per table and kind of change. Parameters: run_id.
-- Readers: src/server/figures/run-detail.ts, src/warehouse/read/read-run.ts.
SELECT table_name, change, sum(last_n - first_n + 1)::BIGINT AS "rows"
FROM sync.change_batches
WHERE run_id = $1
GROUP BY ALL
ORDER BY table_name, change;
