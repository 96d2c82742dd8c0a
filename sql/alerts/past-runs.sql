-- Purpose: runs that ended since a moment, with what they could not confirm. Grain: one row per run, oldest first.
-- Parameters: $1 moment. Readers: src/alerts/events/past.ts.
SELECT
  run_id,
  status,
  error,
  started_at,
  coalesce(finished_at, started_at) AS ended_at,
  list_transform(
    list_filter(CAST(summary -> '$.streams' AS JSON[]), lambda s: (s ->> '$.complete') = 'false' AND (s ->> '$.reason') IS NOT NULL),
    lambda s: s ->> '$.stream'
  ) AS unconfirmed
FROM sync.runs
WHERE finished_at >= $1
ORDER BY finished_at, run_id;
