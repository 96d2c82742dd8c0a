-- Purpose: a text that differs when a reader of a new snapshot would see other data. Times of checks, readings of the
-- quota, finished runs and their requests do not count: state/looks.ndjson has them.
-- Grain: one row. Parameters: none. Readers: src/warehouse/file/publish-if-changed.ts.
SELECT md5(concat_ws('|',
  (SELECT concat_ws(',', max(last_n), count(*)) FROM sync.change_batches WHERE table_name <> 'usage_snapshots'),
  (SELECT concat_ws(',', gone_to, pending) FROM sync.change_feed),
  (SELECT concat_ws(',', count(*), max(rejected_at)) FROM sync.rejects),
  (SELECT count(*) FROM sync.schema_drift),
  (SELECT string_agg(name || '=' || CAST(value AS VARCHAR), ',' ORDER BY name) FROM sync.capabilities WHERE name <> 'published'),
  (
    SELECT concat_ws(',', count(*), sum(hash(stream, scope, status, "cursor", total_count, error, unconfirmed, unconfirmed_because)::HUGEINT))
    FROM sync.stream_state
    WHERE stream <> 'usage'
  ),
  (SELECT max(checksum) FROM sync.views),
  (SELECT count(*) FROM sync.runs WHERE status <> 'done'),
  (SELECT count(*) FROM sync.requests WHERE charge = 'ambiguous'),
  -- each table (scoped), joined by ,
  (SELECT count(*) FROM main.{table} WHERE _in_scope)
  -- end
)) AS news;
