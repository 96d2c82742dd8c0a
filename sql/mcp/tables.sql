-- Purpose: age and completeness of each table, for the provenance of an assistant's answers.
-- Grain: one row per mirrored table. Parameters: none. Readers: src/mcp/door.ts.
SELECT
  table_name,
  row_count,
  epoch_ms(oldest_checked_at) AS checked_at,
  complete,
  unconfirmed,
  unconfirmed_because AS because
FROM marts.freshness;
