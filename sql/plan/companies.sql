-- Purpose: which companies are mirrored. Grain: one row per company. Readers: src/sync/mirror-view.ts.
SELECT id
FROM main.companies
