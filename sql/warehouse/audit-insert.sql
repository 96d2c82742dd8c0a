-- Purpose: stores lines of the audit trail. Grain: one row per line.
-- Parameters: lines (JSON array). Readers: src/warehouse/audit/load-trail.ts.
INSERT INTO sync.audit BY NAME
SELECT unnest(from_json($1, '[{
  "id": "VARCHAR", "started_at": "TIMESTAMPTZ", "actor": "VARCHAR", "way": "VARCHAR", "os_user": "VARCHAR", "address": "VARCHAR",
  "action": "VARCHAR", "subject": "VARCHAR", "route": "VARCHAR", "parameters": ["VARCHAR"], "sql": "VARCHAR",
  "sql_length": "BIGINT", "sql_hash": "VARCHAR", "run_id": "VARCHAR", "outcome": "VARCHAR", "rows": "BIGINT",
  "bytes": "BIGINT", "duration_ms": "BIGINT", "unwritten": "BIGINT"}]'), recursive := true);
