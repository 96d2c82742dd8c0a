-- Purpose: age of the mirror, which sets the resolution of its growth chart, and its runs that are kept. Grain: one row.
-- Readers: src/server/figures/overview.ts.
SELECT
  least(min(started_at), (SELECT min(first_at) FROM sync.removed_runs)) AS first_at,
  max(coalesce(finished_at, started_at)) AS last_at,
  count(*) AS runs
FROM sync.runs;
