-- Purpose: blocks of the snapshot's file, and those of them that hold nothing. Grain: one row.
-- Readers: src/warehouse/read/read-status.ts.
SELECT total_blocks, free_blocks FROM pragma_database_size();
