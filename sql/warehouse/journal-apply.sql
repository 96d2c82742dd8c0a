-- Purpose: a journalled change is part of the file, in the transaction that made it.
-- Parameters: number of the change. Readers: src/warehouse/journal/journal.ts.
UPDATE sync.journal SET applied = $1;
