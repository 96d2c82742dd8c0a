-- Purpose: age of the mirror, which sets the resolution of its growth chart. Grain: one row.
-- Readers: src/server/figures/overview.ts.
SELECT min(started_at) AS first_at, max(coalesce(finished_at, started_at)) AS last_at, count(*) AS runs
FROM sync.runs;
