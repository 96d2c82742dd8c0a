-- Purpose: companies of followed inputs. Grain: one row per input. Readers: src/sync/plan/mirror-view.ts.
SELECT input, company_id, resolved_at
FROM main.company_inputs
