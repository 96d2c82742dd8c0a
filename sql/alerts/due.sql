-- Purpose: when each table becomes older than its stream's max_age. Grain: one row per table that was checked.
-- Parameters: none. Readers: src/alerts/events/conditions.ts.
SELECT table_name, stream, due_at
FROM marts.freshness
WHERE due_at IS NOT NULL
ORDER BY table_name;
