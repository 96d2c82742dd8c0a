-- Purpose: when this snapshot was published, as the publish noted in it; in one of an older version, the end of its last run. Other
-- than the file's date, a copy keeps it. Grain: one row. Parameters: none. Readers: src/warehouse/read/looks.ts.
SELECT epoch_ms(coalesce(
  (SELECT updated_at FROM sync.capabilities WHERE name = 'published'),
  (SELECT max(finished_at) FROM sync.runs)
)) AS published_at;
