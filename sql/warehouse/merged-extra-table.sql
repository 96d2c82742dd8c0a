-- Purpose: `_extra` of rows that keep part of what is stored. Grain: one row per row of `stage` it applies to.
-- Parameters: none. Readers: src/warehouse/load/load-batch.ts.
CREATE OR REPLACE TEMP TABLE merged_extra (_row INTEGER, _extra JSON);
