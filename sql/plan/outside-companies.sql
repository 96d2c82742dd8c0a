-- Purpose: companies of which every mirrored row is outside the setting `scope`. Grain: one row per company. Readers:
-- src/sync/run/reconcile/remove-company.ts.
WITH marks AS (
  SELECT id AS company_id, _in_scope FROM main.companies
  UNION ALL
  -- each table (of companies), joined by UNION ALL
  SELECT company_id, _in_scope FROM main.{table}
  -- end
)
SELECT company_id
FROM marks
GROUP BY company_id
HAVING NOT bool_or(_in_scope)
ORDER BY company_id;
