-- Purpose: the last lookup of an account by this text, and what it found. Grain: at most one row.
-- Parameters: $1 text. Readers: src/sync/lookup/lookup-in-mirror.ts.
SELECT CAST(summary AS VARCHAR) AS summary, finished_at
FROM sync.runs
WHERE mode = 'lookup'
  AND (summary ->> '$.kind') = 'account'
  AND (summary ->> '$.input') = $1
ORDER BY finished_at DESC
LIMIT 1;
