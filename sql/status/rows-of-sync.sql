-- Purpose: rows written by the runs of one sync, counted from the rows themselves, because a killed run has no report.
-- Rows from no list (owners, inputs) count for no stream, as in reports. Grain: one row per run and stream with written
-- rows. Parameters: id of the sync. Readers: src/warehouse/read/read-run.ts.
WITH mine AS (
  SELECT run_id, started_at, finished_at
  FROM sync.runs
  WHERE run_id = $1 OR starts_with(run_id, $1 || '-')
),
versions AS (
  -- each table (read), joined by UNION ALL
  SELECT '{stream}' AS stream, _run_id, _first_synced_at, _synced_at FROM main.{table}
  UNION ALL
  SELECT '{stream}' AS stream, _run_id, _first_synced_at, _synced_at FROM history.{table}
  -- end
),
deletions AS (
  -- each table (read), joined by UNION ALL
  SELECT '{stream}' AS stream, valid_to FROM history.{table} WHERE change = 'delete'
  -- end
),
changes AS (
  SELECT run_id, stream, (_synced_at = _first_synced_at)::INTEGER AS inserted, (_synced_at > _first_synced_at)::INTEGER AS updated, 0 AS deleted, 0 AS rejected
  FROM versions
  JOIN mine ON mine.run_id = versions._run_id
  UNION ALL
  SELECT run_id, stream, 0, 0, 1, 0
  FROM deletions
  JOIN mine ON valid_to BETWEEN started_at AND finished_at
  UNION ALL
  SELECT run_id, stream, 0, 0, 0, 1
  FROM sync.rejects
  JOIN mine USING (run_id)
)
SELECT
  run_id,
  stream,
  sum(inserted) AS inserted,
  sum(updated) AS updated,
  sum(deleted) AS deleted,
  sum(rejected) AS rejected
FROM changes
GROUP BY ALL
ORDER BY ALL;
