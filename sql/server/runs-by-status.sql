-- Purpose: number of runs by status since the mirror began, with those that retention removed. Grain: one row per status.
-- Readers: src/server/figures/metrics.ts.
SELECT status, sum(runs)::BIGINT AS runs, max(last_at) AS last_at
FROM (
  SELECT status, count(*) AS runs, max(coalesce(finished_at, started_at)) AS last_at FROM sync.runs GROUP BY status
  UNION ALL
  SELECT status, runs, last_at FROM sync.removed_runs
)
GROUP BY status
ORDER BY status;
