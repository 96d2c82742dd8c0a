-- Purpose: rows, worst-case age and completeness of every table. Grain: one row per mirrored table. Ages are given as
-- times, because the snapshot is read long after it was written. Readers:
-- src/warehouse/read/freshness.ts, src/warehouse/file/publish-if-changed.ts.
SELECT
  table_name,
  stream,
  row_count,
  last_change_at,
  last_checked_at,
  oldest_checked_at,
  oldest_walked_at,
  due_at,
  max_age_hours,
  total_count,
  scopes,
  walking_scopes,
  unchecked_scopes,
  failed_scopes,
  error,
  complete,
  unconfirmed,
  unconfirmed_because
FROM marts.freshness
ORDER BY list_position(
  [
  -- each table (streams first), joined by ,
  '{table}'
  -- end
  ],
  table_name
) NULLS LAST, table_name;
