-- Purpose: rows written by the runs of one sync, counted from the change feed, because a killed run has no report.
-- Rows from no list (owners, inputs) count for no stream, as in reports. Grain: one row per run and stream with written
-- rows. Parameters: id of the sync. Readers: src/warehouse/read/read-run.ts.
WITH mine AS (
  SELECT run_id
  FROM sync.runs
  WHERE run_id = $1 OR starts_with(run_id, $1 || '-')
),
streams AS (
  -- each table (read), joined by UNION ALL
  SELECT '{stream}' AS stream, '{table}' AS table_name
  -- end
),
changes AS (
  SELECT run_id, stream, change, last_n - first_n + 1 AS "rows"
  FROM sync.change_batches
  JOIN mine USING (run_id)
  JOIN streams USING (table_name)
  UNION ALL
  SELECT run_id, stream, 'rejected', 1
  FROM sync.rejects
  JOIN mine USING (run_id)
)
SELECT
  run_id,
  stream,
  coalesce(sum("rows") FILTER (change = 'insert'), 0) AS inserted,
  coalesce(sum("rows") FILTER (change = 'update'), 0) AS updated,
  coalesce(sum("rows") FILTER (change = 'delete'), 0) AS deleted,
  coalesce(sum("rows") FILTER (change = 'rejected'), 0) AS rejected
FROM changes
GROUP BY ALL
ORDER BY ALL;
