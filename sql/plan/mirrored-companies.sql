-- Purpose: of given companies, those that are mirrored, and whether an account names them. Grain: one row per
-- company.
-- Parameters: $1 ids, a JSON list. Readers: src/sync/run/reconcile/delete-absent-records.ts.
SELECT
  c.id,
  EXISTS (FROM main.accounts AS a WHERE a.company_id = c.id) AS named
FROM main.companies AS c
WHERE c.id IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
