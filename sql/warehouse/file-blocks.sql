-- Purpose: size of the open file, and how much of it is unused. Grain: one row. Parameters: none.
-- Readers: src/warehouse/publish/rewrite-file.ts.
SELECT
  total_blocks * block_size AS bytes,
  free_blocks * block_size AS unused
FROM pragma_database_size()
WHERE database_name = current_database();
