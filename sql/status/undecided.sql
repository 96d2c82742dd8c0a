-- Purpose: requests of the present period that ended without an answer, so that nobody knows yet whether they cost a
-- credit. Grain: one row per request, newest first, at most 100. Readers: src/warehouse/read/read-credits.ts.
WITH reading AS (
  SELECT resets_at
  FROM main.usage_snapshots
  WHERE remaining IS NOT NULL
  ORDER BY captured_at DESC
  LIMIT 1
)
SELECT request_id, run_id, endpoint, url, started_at, error
FROM sync.requests
WHERE charge = 'ambiguous'
  AND started_at >= coalesce((SELECT resets_at - INTERVAL 1 MONTH FROM reading), started_at)
ORDER BY started_at DESC, request_id
LIMIT 100;
