-- Purpose: findings to check: records that could not become rows, and differences from the API document.
-- Grain: one row. Readers: src/warehouse/read/read-status.ts.
SELECT
  (SELECT count(*) FROM sync.rejects) AS rejects,
  (SELECT count(*) FROM sync.schema_drift) AS drifts;
