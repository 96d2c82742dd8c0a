-- Purpose: row ids of the stored rows with a batch's keys. Grain: one row per stored row, by row id.
-- Parameters: none; reads the temporary table `found`. Readers: src/warehouse/load/load-batch.ts.
SELECT _old AS row FROM found ORDER BY _old;
