-- Purpose: `_extra` of rows that keep part of their stored `_extra`. Grain: one row per such row of `stage`.
-- Parameters: none. Readers: src/warehouse/load/load-batch.ts.
CREATE OR REPLACE TEMP TABLE merged_extra (_row INTEGER, _extra JSON);
