-- Purpose: lets the change feed start again after a number, when the warehouse is opened for writing.
-- Parameters: the number. Readers: src/warehouse/file/feed-check.ts.
UPDATE sync.change_feed SET gone_to = $1, pending = true;
