-- Purpose: ids of owners. Grain: one row per owner. Readers: src/sync/run/settle/apply-absences.ts.
SELECT id
FROM main.owners
ORDER BY id;
