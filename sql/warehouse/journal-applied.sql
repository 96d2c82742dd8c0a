-- Purpose: number of the last journalled change in this file. Grain: one row.
-- Parameters: none. Readers: src/warehouse/journal/journal.ts.
SELECT applied FROM sync.journal;
