-- Purpose: rows and worst-case age of every table. Grain: one row per mirrored table. Ages are told as instants: the
-- snapshot is read long after it was written. Readers: src/server/overview.ts, src/server/metrics.ts.
SELECT
  table_name,
  stream,
  row_count,
  last_change_at,
  last_checked_at,
  oldest_checked_at,
  oldest_walked_at,
  scopes,
  unchecked_scopes,
  failed_scopes,
  error
FROM marts.freshness;
