-- Purpose: latest quota reading. A reset that it lacks, or names in a form that no column takes, is that of the latest
-- reading before it that names one, as long as that is to come. Grain: at most one row. Readers:
-- src/sync/plan/credits.ts.
-- The latest reading is chosen first: else the reset would be looked up for each reading of years.
WITH latest AS MATERIALIZED (
  SELECT "limit" AS credit_limit, used, remaining, resets_at, captured_at
  FROM main.usage_snapshots
  WHERE remaining IS NOT NULL
  ORDER BY captured_at DESC
  LIMIT 1
)
SELECT
  credit_limit,
  used,
  remaining,
  coalesce(
    resets_at,
    (
      SELECT max_by(known.resets_at, known.captured_at)
      FROM main.usage_snapshots AS known
      WHERE known.resets_at > latest.captured_at
    )
  ) AS resets_at,
  captured_at
FROM latest
