-- Purpose: changes up to this number are no longer kept. A stretch stays while one of its changes is kept.
-- Parameters: number. Readers: src/warehouse/file/upkeep/history-retention.ts.
UPDATE sync.change_feed SET gone_to = greatest(gone_to, $1);
