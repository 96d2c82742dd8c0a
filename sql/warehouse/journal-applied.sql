-- Purpose: number of the last journalled change that this file holds. Grain: one row.
-- Parameters: none. Readers: src/warehouse/journal/journal.ts, src/warehouse/file/rebuild.ts.
SELECT applied FROM sync.journal;
