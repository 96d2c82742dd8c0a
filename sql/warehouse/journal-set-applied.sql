-- Purpose: stores the number of the last applied journal entry, in the transaction of its change. Grain: one row.
-- Parameters: number of the change. Readers: src/warehouse/journal/journal.ts.
UPDATE sync.journal SET applied = $1;
