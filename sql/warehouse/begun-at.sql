-- Purpose: when the file was begun, ms since the epoch: at its first migration, or when a replay filled it anew. Rows of
-- another file may differ although their versions have the same times and runs. Grain: one row. Parameters: none.
-- Readers: src/warehouse/read/read-run.ts.
SELECT CAST(epoch_ms(min(applied_at)) AS BIGINT) AS begun_at FROM sync.migrations;
