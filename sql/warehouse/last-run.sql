-- Purpose: last run in the snapshot. Grain: at most one row. Readers: src/warehouse/export/write-parts.ts.
SELECT run_id FROM sync.runs ORDER BY started_at DESC, run_id DESC LIMIT 1;
