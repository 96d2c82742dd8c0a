-- Purpose: insights whose account is gone. Grain: one row per insight. Readers: src/sync/run/apply-deletes.ts.
SELECT CAST(i.account_id AS VARCHAR) AS id
FROM main.account_insights AS i
WHERE NOT EXISTS (FROM main.accounts AS a WHERE a.id = i.account_id)
ORDER BY id;
