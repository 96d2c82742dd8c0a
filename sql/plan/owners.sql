-- Purpose: ids of owners. Grain: one row per owner. Readers: src/sync/run/reconcile/delete-absent-records.ts.
SELECT id
FROM main.owners
ORDER BY id;
