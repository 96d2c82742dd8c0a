-- Purpose: requests of all runs of one sync. Grain: one row per run and stream. Parameters: id of the sync.
-- Readers: src/warehouse/read/read-run.ts.
SELECT
  run_id,
  stream,
  count(*) AS requests,
  count(*) FILTER (charge = 'spent') AS spent,
  count(*) FILTER (charge = 'ambiguous') AS ambiguous,
  count(*) FILTER (status = 200 AND error IS NULL) AS pages,
  coalesce(sum("rows"), 0)::BIGINT AS "rows"
FROM sync.requests
WHERE run_id = $1 OR starts_with(run_id, $1 || '-')
GROUP BY ALL
ORDER BY ALL;
