-- Purpose: number of the last journalled change that this file holds. Grain: one row.
-- Parameters: none. Readers: src/warehouse/journal.ts, src/warehouse/rebuild.ts.
SELECT applied FROM sync.journal;
