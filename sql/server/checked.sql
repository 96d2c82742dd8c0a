-- Purpose: when each list, record and input was last compared with the service; never compared ones are left out.
-- Grain: one row per stream and scope.
-- Readers: src/server/routes/mirror-answer.ts.
SELECT stream, scope, checked_at
FROM sync.stream_state
WHERE checked_at IS NOT NULL;
