-- Purpose: how far each file of the audit trail has been loaded. Grain: one row per file.
-- Parameters: none. Readers: src/warehouse/audit/load-trail.ts.
SELECT file, loaded_bytes AS loaded, damaged FROM sync.audit_files ORDER BY file;
