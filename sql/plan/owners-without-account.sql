-- Purpose: owners without an account. Grain: one row per owner. Readers: src/sync/run/reconcile/delete-absent-records.ts.
SELECT o.id
FROM main.owners AS o
WHERE NOT EXISTS (FROM main.accounts AS a WHERE a.owner_id = o.id)
ORDER BY o.id;
