-- Purpose: insights whose account is gone, once the list of accounts has been walked. Grain: one row per insight.
-- Readers: src/sync/run/reconcile/delete-absent-records.ts.
SELECT CAST(i.account_id AS VARCHAR) AS id
FROM main.account_insights AS i
WHERE NOT EXISTS (FROM main.accounts AS a WHERE a.id = i.account_id)
  AND EXISTS (FROM sync.stream_state AS s WHERE s.stream = 'accounts' AND s.walked_at IS NOT NULL)
ORDER BY id;
