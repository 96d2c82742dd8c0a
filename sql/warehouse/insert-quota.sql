-- Purpose: stores the `usage` block of a paid response as a quota reading; a fuller reading of the same time stays.
-- Parameters: captured_at, limit, used, remaining, resets_at, run_id, earliest time of a change. Readers: src/warehouse/load/commit.ts.
INSERT INTO main.usage_snapshots
  (captured_at, source, "limit", used, remaining, resets_at, _first_synced_at, _synced_at, _run_id)
VALUES ($1, 'response', $2, $3, $4, $5, $1, greatest($1, $7), $6)
ON CONFLICT DO NOTHING;
