-- Purpose: when each list was last compared with the service. Grain: one row per stream and scope.
-- Readers: src/server/figures/data-time.ts.
SELECT stream, scope, checked_at
FROM sync.stream_state
WHERE checked_at IS NOT NULL;
