-- Purpose: credits already spent in this day and period, for budgets. Grain: one row per stream and kind of work.
-- Parameters: $1 start of the period, $2 start of the day. Readers: src/sync/plan/budgets.ts.
SELECT
  stream,
  work,
  count(*) FILTER (started_at >= $2)::INTEGER AS of_day,
  count(*) FILTER (started_at >= $1)::INTEGER AS of_period
FROM sync.requests
WHERE started_at >= least($1, $2) AND charge <> 'free'
GROUP BY ALL
