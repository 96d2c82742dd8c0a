-- Purpose: facts learned about the service. Grain: one row per capability.
-- Parameters: none. Readers: src/warehouse/read/mirror-reader.ts.
SELECT name, value FROM sync.capabilities ORDER BY name;
