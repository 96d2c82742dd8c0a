-- Purpose: where the rows that a batch meets stand. Grain: one row per row met, in the order they stand.
-- Parameters: none; reads the temporary table `found`. Readers: src/warehouse/load/load-batch.ts.
SELECT _old AS row FROM found ORDER BY _old;
