-- Purpose: what changed in the last 30 days before the last change, field by field and in words.
-- Grain: one row per change of a row (inserted, deleted) and per changed field (updated). Rows of a table's first load,
-- readings of usage, counts of signals and opt-in content are left out.
-- Readers: analysts, assistants.
CREATE OR REPLACE VIEW marts.recent_changes AS
WITH span AS (
  SELECT coalesce(min(first_n), 0) AS first_n
  FROM sync.change_batches
  WHERE "at" >= (SELECT max("at") FROM sync.change_batches) - INTERVAL 720 HOUR
),
first_loads AS (
  SELECT table_name, arg_min(run_id, first_n) AS run_id FROM sync.change_batches GROUP BY table_name
),
versions AS (
/* versions of every table */
),
neighbours AS (
  SELECT
    table_name, key, account_id, company_id, title, change_n, change, valid_to, fields,
    present AS before, lead(present) OVER (PARTITION BY table_name, key ORDER BY change_n NULLS LAST) AS after
  FROM versions
),
fields AS (
  SELECT
    change_n, valid_to, table_name, key, account_id, company_id, title, fields, before, after,
    unnest(range(1, len(fields) + 1)) AS position
  FROM neighbours
  WHERE change = 'update' AND change_n >= (SELECT first_n FROM span) AND after IS NOT NULL
),
names AS (
/* names of the rows of every table */
),
changes AS (
  SELECT
    change_n AS n, valid_to AS changed_at, table_name, key, account_id, company_id, title, 'update' AS change,
    fields[position] AS field, left(before[position], 200) AS before, left(after[position], 200) AS after
  FROM fields
  WHERE before[position] IS DISTINCT FROM after[position]
  UNION ALL
  SELECT
    change_n AS n, valid_to AS changed_at, table_name, key, account_id, company_id, title, 'delete' AS change,
    NULL AS field, NULL AS before, NULL AS after
  FROM neighbours
  WHERE change = 'delete' AND change_n >= (SELECT first_n FROM span)
  UNION ALL
  SELECT
    changes.n, batches."at" AS changed_at, batches.table_name, names.key, names.account_id, names.company_id, names.title,
    'insert' AS change, NULL AS field, NULL AS before, NULL AS after
  FROM sync.change_batches AS batches
  JOIN first_loads ON first_loads.table_name = batches.table_name AND first_loads.run_id <> batches.run_id
  JOIN sync.changes AS changes ON changes.n BETWEEN batches.first_n AND batches.last_n
  JOIN names
    ON names.table_name = batches.table_name
    AND names.key = concat_ws('/', changes.key_1, changes.key_2, changes.key_3)
  WHERE batches.change = 'insert' AND batches.first_n >= (SELECT first_n FROM span)
)
SELECT
  n,
  changed_at,
  table_name,
  key,
  account_id,
  company_id,
  title,
  change,
  field,
  before,
  after,
  concat(
    coalesce(title, key),
    CASE
      WHEN change = 'insert' THEN ': new'
      WHEN change = 'delete' THEN ': gone'
      -- A list or object is too long for a sentence.
      WHEN left(before, 1) IN ('{', '[') OR left(after, 1) IN ('{', '[') THEN concat(': ', field, ' changed')
      ELSE concat(': ', field, ' ', coalesce(before, 'nothing'), ' → ', coalesce(after, 'nothing'))
    END
  ) AS sentence
FROM changes;

COMMENT ON VIEW marts.recent_changes IS 'What changed in the last 30 days, field by field and in words. One row per change of a row and per changed field.';
COMMENT ON COLUMN marts.recent_changes.n IS 'Number of the change in the change feed.';
COMMENT ON COLUMN marts.recent_changes.changed_at IS 'When the mirror received the change.';
COMMENT ON COLUMN marts.recent_changes.table_name IS 'Table of the row.';
COMMENT ON COLUMN marts.recent_changes.key IS 'Key of the row; the parts of a key of several columns are joined by /.';
COMMENT ON COLUMN marts.recent_changes.account_id IS 'Account of the row: accounts.id; NULL if the row belongs to a company only.';
COMMENT ON COLUMN marts.recent_changes.company_id IS 'Company of the row: companies.id; NULL if it has none.';
COMMENT ON COLUMN marts.recent_changes.title IS 'Name of the row: name, headline or title.';
COMMENT ON COLUMN marts.recent_changes.change IS 'insert, update or delete.';
COMMENT ON COLUMN marts.recent_changes.field IS 'Changed column; NULL for inserted and deleted rows.';
COMMENT ON COLUMN marts.recent_changes.before IS 'Value before as text, at most 200 characters.';
COMMENT ON COLUMN marts.recent_changes.after IS 'Value after as text, at most 200 characters.';
COMMENT ON COLUMN marts.recent_changes.sentence IS 'The change in words.';
