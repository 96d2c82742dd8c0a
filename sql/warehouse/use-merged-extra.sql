-- Purpose: writes the merged `_extra` into the batch.
-- Parameters: none; reads the temporary tables `stage` and `merged_extra`. Readers: src/warehouse/load/load-batch.ts.
UPDATE stage SET _extra = m._extra FROM merged_extra AS m WHERE m._row = stage._row;
