-- Purpose: problems and gaps: records that became no row, differences from API.md, fields without a value.
-- Grain: one row per table, check, field and detail.
-- Readers: operators, data teams.
CREATE OR REPLACE VIEW marts.data_quality AS
WITH counted AS (
  -- each table (all), joined by UNION ALL
  SELECT '{table}' AS table_name, count(*) AS row_count, [{filled fields}] AS fields FROM main.{table}
  -- end
),
opened AS (
  SELECT table_name, row_count, unnest(fields) AS entry FROM counted
),
missing AS (
  SELECT
    table_name,
    CASE WHEN entry.required THEN 'missing_required' ELSE 'missing_optional' END AS check_name,
    entry.field AS field,
    row_count,
    row_count - entry.filled AS affected
  FROM opened
),
rejected AS (
  SELECT table_name, reason, count(*) AS affected, max(rejected_at) AS last_seen_at
  FROM sync.rejects
  GROUP BY table_name, reason
)
SELECT
  table_name,
  check_name,
  field,
  NULL AS detail,
  affected,
  row_count,
  round(affected / row_count, 4) AS share,
  CAST(NULL AS TIMESTAMPTZ) AS last_seen_at
FROM missing
WHERE affected > 0
UNION ALL
SELECT table_name, 'unconfirmed', NULL, unconfirmed_because, unconfirmed, row_count, NULL, oldest_checked_at
FROM marts.freshness
WHERE NOT complete AND scopes > 0 AND (table_name = stream OR table_name = 'usage_requests')
UNION ALL
SELECT table_name, 'rejected', NULL, reason, affected, NULL, NULL, last_seen_at FROM rejected
UNION ALL
SELECT table_name, kind, field, detail, occurrences, NULL, NULL, last_seen_at FROM sync.schema_drift;

COMMENT ON VIEW marts.data_quality IS 'What is wrong or missing. One row per table, check, field and detail.';
COMMENT ON COLUMN marts.data_quality.table_name IS 'Table in schema main.';
COMMENT ON COLUMN marts.data_quality.check_name IS 'missing_required, missing_optional: rows without a value. rejected: records that became no row (sync.rejects). unconfirmed: the table is not proven to be complete (marts.freshness). unknown_field, other_type, new_value: differences from the API document (sync.schema_drift).';
COMMENT ON COLUMN marts.data_quality.field IS 'Column of the table; for differences, the field as the service names it; NULL for rejected records.';
COMMENT ON COLUMN marts.data_quality.detail IS 'Reason of the rejection; why the table is not proven to be complete; type or value that was seen.';
COMMENT ON COLUMN marts.data_quality.affected IS 'Rows without a value, records rejected, rows that could not be confirmed, or times the difference was seen.';
COMMENT ON COLUMN marts.data_quality.row_count IS 'Rows of the table; NULL where affected does not count rows.';
COMMENT ON COLUMN marts.data_quality.share IS 'affected of row_count, 0 to 1; NULL where affected does not count rows.';
COMMENT ON COLUMN marts.data_quality.last_seen_at IS 'When it was last seen; NULL for missing values.';
