-- Purpose: the last change before a moment: where a reader of what happened since then begins.
-- Grain: one row. Parameters: $1 moment. Readers: src/warehouse/read/changes/read-changes.ts,
-- src/alerts/events/change-events.ts.
SELECT coalesce(min(first_n) - 1, (SELECT max(last_n) FROM sync.change_batches), 0) AS last_n
FROM sync.change_batches
WHERE "at" >= $1;
