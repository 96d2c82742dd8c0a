-- Purpose: what was learned about the service. Grain: one row per capability.
-- Parameters: none. Readers: src/warehouse/file/warehouse.ts.
SELECT name, value FROM sync.capabilities ORDER BY name;
