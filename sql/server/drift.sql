-- Purpose: differences between received records and API.md, newest first. Grain: one row per kind, at most two
-- hundred.
-- Readers: src/server/figures/overview.ts.
SELECT table_name, field, kind, detail, occurrences, first_seen_at, last_seen_at
FROM sync.schema_drift
ORDER BY last_seen_at DESC, table_name, field, detail
LIMIT 200;
