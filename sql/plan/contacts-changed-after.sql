-- Purpose: number of mirrored contacts that match the change filter. Grain: one row. Parameters: $1 time of the
-- filter.
-- Readers: src/sync/plan/mirror-view.ts.
SELECT count(*) AS rows
FROM main.contacts
WHERE last_change_detected_on > $1 AND _in_scope
