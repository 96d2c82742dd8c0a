-- Purpose: stores a fact learned about the service.
-- Parameters: name, value (JSON), updated_at. Readers: src/warehouse/load/changes.ts.
INSERT OR REPLACE INTO sync.capabilities (name, value, updated_at) VALUES ($1, $2, $3);
