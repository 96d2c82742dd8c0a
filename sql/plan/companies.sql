-- Purpose: the mirrored companies. Grain: one row per company. Readers: src/sync/plan/mirror-view.ts.
SELECT id
FROM main.companies
