-- Purpose: how old the data of each stream is at worst. Grain: one row per stream and, for lists of one company, scope.
-- Readers: src/server/figures/data-time.ts.
SELECT stream, scope, checked_at
FROM sync.stream_state
WHERE checked_at IS NOT NULL;
