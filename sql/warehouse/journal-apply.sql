-- Purpose: records the number of a journalled change, in the transaction that makes the change.
-- Parameters: number of the change. Readers: src/warehouse/journal/journal.ts.
UPDATE sync.journal SET applied = $1;
