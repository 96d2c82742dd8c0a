-- Purpose: starts the emptied change feed after a number.
-- Parameters: the number. Readers: src/warehouse/load/walks.ts.
UPDATE sync.change_feed SET gone_to = $1, pending = false;
