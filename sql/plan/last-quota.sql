-- Purpose: latest quota reading. Grain: at most one row. Readers: src/sync/plan/mirror-view.ts.
SELECT "limit" AS credit_limit, used, remaining, resets_at, captured_at
FROM main.usage_snapshots
WHERE remaining IS NOT NULL
ORDER BY captured_at DESC
LIMIT 1
