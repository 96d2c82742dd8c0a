-- Purpose: remaining credits over the present period. Grain: one row per 500th of the period with a reading, the last
-- one. Readers: src/server/figures/overview.ts.
WITH readings AS (
  SELECT captured_at, remaining, resets_at
  FROM main.usage_snapshots
  WHERE remaining IS NOT NULL
),
period AS (
  SELECT arg_max(resets_at, captured_at) AS resets_at FROM readings
),
present AS (
  SELECT
    readings.captured_at,
    readings.remaining,
    min(readings.captured_at) OVER () AS first_at,
    max(readings.captured_at) OVER () AS last_at
  FROM readings
  JOIN period ON readings.resets_at IS NOT DISTINCT FROM period.resets_at
)
SELECT max(captured_at) AS captured_at, arg_max(remaining, captured_at) AS remaining
FROM present
GROUP BY floor(500 * (epoch(captured_at) - epoch(first_at)) / greatest(1, epoch(last_at) - epoch(first_at)))
ORDER BY 1;
