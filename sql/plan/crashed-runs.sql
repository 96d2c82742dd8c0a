-- Purpose: runs without an end, and the latest sync if a fault such as a full disk ended it (it left no summary): their
-- answers may be in the archive and not in the mirror. Grain: one row per run, oldest first; `ended`: its end is recorded.
-- Readers: src/sync/recovery/recover.ts, src/warehouse/file/warehouse.ts.
WITH latest AS (
  SELECT run_id
  FROM sync.runs
  WHERE mode IN ('full', 'incremental')
  ORDER BY started_at DESC, run_id DESC
  LIMIT 1
)
SELECT run_id, status <> 'running' AS ended
FROM sync.runs
WHERE status = 'running' OR (
  status = 'failed' AND coalesce(CAST(summary AS VARCHAR), 'null') = 'null' AND run_id IN (SELECT run_id FROM latest)
)
ORDER BY started_at
