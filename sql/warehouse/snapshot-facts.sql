-- Purpose: what the list of snapshots says of one: number of its last change, and whether every table is proven to be complete.
-- The readings of usage never count. Grain: one row. Parameters: none. Readers: src/warehouse/file/publish/keep-snapshots.ts.
SELECT
  coalesce((SELECT greatest(gone_to, (SELECT max(last_n) FROM sync.change_batches)) FROM sync.change_feed), 0) AS position,
  coalesce((SELECT bool_and(complete) FROM marts.freshness WHERE stream <> 'usage'), false) AS complete;
