-- Purpose: differences from the API document that were first seen up to a moment. Grain: one row per difference.
-- Parameters: $1 moment. Readers: src/alerts/events/conditions.ts.
SELECT table_name, field, kind, min(first_seen_at) AS first_at, sum(occurrences)::BIGINT AS occurrences
FROM sync.schema_drift
WHERE first_seen_at <= $1
GROUP BY ALL
ORDER BY first_at, table_name, field, kind;
