-- Purpose: streams that are not proven complete. Grain: one row per stream. Parameters: none.
-- Readers: src/alerts/events/conditions.ts.
SELECT stream, max(unconfirmed) AS unconfirmed, max(unconfirmed_because) AS reason
FROM marts.freshness
WHERE NOT complete AND last_checked_at IS NOT NULL AND unconfirmed_because IS NOT NULL
GROUP BY stream
ORDER BY stream;
