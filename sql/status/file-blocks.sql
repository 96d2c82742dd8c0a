-- Purpose: blocks of the open file, and those of them that hold nothing. Grain: one row. Parameters: none.
-- Readers: src/warehouse/read/read-status.ts, src/warehouse/file/publish-if-changed.ts.
SELECT total_blocks, free_blocks, block_size
FROM pragma_database_size()
WHERE database_name = current_database();
