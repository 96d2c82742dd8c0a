-- Purpose: insights of accounts outside the setting `scope`. Grain: one row per insight. Readers:
-- src/sync/run/reconcile/remove-company.ts.
SELECT CAST(account_id AS VARCHAR) AS id
FROM main.account_insights
WHERE NOT _in_scope
ORDER BY id;
