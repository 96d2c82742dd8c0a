-- Purpose: the columns of accounts that planning needs; an empty company id names no company. Grain: one row per account. Readers:
-- src/sync/plan/mirror-view.ts.
SELECT
  CAST(id AS VARCHAR) AS id,
  nullif(company_id, '') AS company_id,
  priority,
  main_score AS score,
  _synced_at AS changed_at
FROM main.accounts
ORDER BY accounts.id
