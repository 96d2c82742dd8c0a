-- Purpose: first and last reading of the quota in each of the latest periods. Grain: one row per end of a period.
-- Readers: src/sync/plan/credits.ts.
SELECT
  resets_at,
  min(captured_at) AS first_at,
  max(captured_at) AS last_at,
  arg_min("limit", captured_at) AS first_limit,
  arg_min(used, captured_at) AS first_used,
  arg_min(remaining, captured_at) AS first_remaining,
  arg_max("limit", captured_at) AS last_limit,
  arg_max(used, captured_at) AS last_used,
  arg_max(remaining, captured_at) AS last_remaining
FROM main.usage_snapshots
WHERE resets_at IS NOT NULL AND "limit" IS NOT NULL AND used IS NOT NULL AND remaining IS NOT NULL
GROUP BY resets_at
ORDER BY resets_at DESC
LIMIT 100
