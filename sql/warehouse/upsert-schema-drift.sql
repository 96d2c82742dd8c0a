-- Purpose: adds up the differences between received records and the API document.
-- Parameters: none; reads the temporary table `incoming`. Readers: src/warehouse/load/commit.ts.
INSERT INTO sync.schema_drift SELECT * FROM incoming
ON CONFLICT (table_name, field, kind, detail) DO UPDATE SET
  occurrences = schema_drift.occurrences + excluded.occurrences,
  last_seen_at = greatest(schema_drift.last_seen_at, excluded.last_seen_at),
  run_id = excluded.run_id;
