-- Purpose: followed inputs that resolved to given companies. Grain: one row per input. Parameters: $1 company ids, a
-- JSON list.
-- Readers: src/sync/run/reconcile/delete-absent-records.ts.
SELECT i.input AS id
FROM main.company_inputs AS i
WHERE i.company_id IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
ORDER BY i.input;
