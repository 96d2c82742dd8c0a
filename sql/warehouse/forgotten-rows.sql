-- Purpose: lowers the row count of the contacts list by the number of erased contacts. Otherwise the next sync would
-- walk the whole list to find the missing rows. Parameters: $1 number of erased rows.
-- Readers: src/warehouse/load/changes.ts.
UPDATE sync.stream_state SET rows_at_walk = rows_at_walk - $1 WHERE stream = 'contacts' AND scope = '';
