-- Purpose: the organization's access tier as the last run knew it. Grain: at most one row. Readers:
-- src/warehouse/read/read-status.ts.
SELECT
  value ->> '$.tier' AS tier,
  value ->> '$.since' AS since,
  value ->> '$.evidence' AS evidence
FROM sync.capabilities
WHERE name = 'tier'
