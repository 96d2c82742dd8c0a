-- Purpose: whether an input is resolved to a company. Grain: one row, or none. Parameters: $1 input.
-- Readers: src/sync/run/apply-response.ts.
SELECT 1 AS held FROM main.company_inputs WHERE input = $1 AND company_id IS NOT NULL;
