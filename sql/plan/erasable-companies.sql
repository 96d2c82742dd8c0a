-- Purpose: companies of inputs that are followed no more, without those that an account or a followed input names.
-- Grain: one row per company. Parameters: $1 inputs to erase, $2 followed inputs, both JSON lists. Readers:
-- src/sync/run/reconcile/remove-company.ts.
SELECT DISTINCT i.company_id
FROM main.company_inputs AS i
WHERE
  i.company_id IS NOT NULL
  AND i.input IN (SELECT unnest(from_json($1, '["VARCHAR"]')))
  AND i.company_id NOT IN (SELECT a.company_id FROM main.accounts AS a WHERE a.company_id IS NOT NULL)
  AND i.company_id NOT IN (
    SELECT f.company_id
    FROM main.company_inputs AS f
    WHERE f.company_id IS NOT NULL AND f.input IN (SELECT unnest(from_json($2, '["VARCHAR"]')))
  )
ORDER BY i.company_id;
