-- Purpose: runs without an end. Grain: one row per run, oldest first. Readers: src/sync/recovery/recover.ts,
-- src/warehouse/file/warehouse.ts.
SELECT run_id
FROM sync.runs
WHERE status = 'running'
ORDER BY started_at
