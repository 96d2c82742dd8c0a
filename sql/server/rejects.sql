-- Purpose: records that could not become rows, newest first. Grain: one row per record, the last hundred.
-- Readers: src/server/figures/overview.ts.
SELECT rejected_at, run_id, stream, table_name, position, reason, left(record, 2000) AS record
FROM sync.rejects
ORDER BY rejected_at DESC, stream, position
LIMIT 100;
