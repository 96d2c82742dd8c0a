-- Purpose: number of runs by status. Grain: one row per status. Readers: src/server/metrics.ts.
SELECT status, count(*) AS runs, max(coalesce(finished_at, started_at)) AS last_at
FROM sync.runs
GROUP BY status
ORDER BY status;
