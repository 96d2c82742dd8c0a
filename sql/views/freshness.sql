-- Purpose: rows and age of each table, and whether it is proven complete. Ages are computed at the time of the query.
-- Grain: one row per mirrored table. Tables of the same stream share its checks.
-- Only followed lists count: the organization's lists, companies of mirrored accounts and of followed inputs,
-- insights of mirrored accounts. Each run records its configured streams in sync.capabilities as `wanted`.
-- Readers: operators, alerts, dbt source freshness, src/sync/run/state/completeness.ts,
-- sql/status/freshness.sql.
CREATE OR REPLACE VIEW marts.freshness AS
WITH tables AS (
  -- each table (all), joined by UNION ALL
  SELECT '{table}' AS table_name, '{stream}' AS stream, {place} AS place, count(*) AS row_count, max(_synced_at) AS last_change_at FROM main.{table}
  -- end
),
wanted AS (
  SELECT value FROM sync.capabilities WHERE name = 'wanted'
),
-- Without Full Access there is nothing to read in its lists; rows that the mirror holds are of an earlier time.
tier AS (
  SELECT
    value ->> '$.tier' = 'public' AS is_public,
    left(value ->> '$.since', 10) AS since,
    coalesce(value ->> '$.proven' = 'true', true) AS proven
  FROM sync.capabilities
  WHERE name = 'tier'
),
configured AS (
  SELECT key AS stream, try_cast(CAST(value AS VARCHAR) AS BIGINT) AS max_age_ms
  FROM (SELECT unnest(map_entries(CAST(value -> '$.max_age_ms' AS MAP(VARCHAR, BIGINT))), recursive := true) FROM wanted)
),
inputs AS (
  SELECT unnest(CAST(value -> '$.inputs' AS VARCHAR[])) AS input FROM wanted
),
usage_parts AS (
  SELECT unnest(coalesce(
    (SELECT CAST(value -> '$.usage' AS VARCHAR[]) FROM wanted),
    ['usage', 'limits', 'requests']
  ))
),
-- Streams of this mirror: configured, or read at least once.
started AS (
  SELECT stream FROM configured
  UNION
  SELECT stream FROM sync.stream_state
),
companies AS (
  SELECT company_id, min(known_at) AS known_at, bool_or(tracked) AS tracked
  FROM (
    SELECT company_id, _first_synced_at AS known_at, true AS tracked FROM main.accounts WHERE _in_scope
    UNION ALL
    SELECT company_id, _first_synced_at, false
    FROM main.company_inputs
    WHERE input IN (FROM inputs) OR NOT EXISTS (FROM wanted)
  )
  -- An empty id, which some services send for none, names no company.
  WHERE company_id <> ''
  GROUP BY company_id
),
-- Lists and records whose last answers could not be used, or that were refused: they are asked for again at growing intervals.
unusable AS (
  SELECT stream, scope
  FROM (
    SELECT unnest(json_transform(value, '[{"stream": "VARCHAR", "scope": "VARCHAR"}]'), recursive := true)
    FROM sync.capabilities
    WHERE name = 'unusable'
  )
),
-- One row per followed part of a stream; known_at: when it became known, NULL for parts that always exist.
live AS (
  SELECT stream, part AS scope, CAST(NULL AS TIMESTAMPTZ) AS known_at, false AS embedded
  FROM (VALUES
    ('accounts', ''), ('contacts', ''), ('signals', ''), ('signal_counts', ''),
    ('usage', 'usage'), ('usage', 'limits'), ('usage', 'requests'), ('usage', 'usage:endpoint'), ('usage', 'usage:apiKey'),
    ('usage', 'usage:day')
  ) AS lists(stream, part)
  WHERE stream <> 'usage' OR part IN (FROM usage_parts)
  UNION ALL
  -- each table (of companies), joined by UNION ALL
  SELECT '{stream}', company_id, known_at, false FROM companies
  -- end
  UNION ALL
  -- Profiles of tracked companies are embedded in their accounts and equally fresh.
  SELECT
    'companies', company_id, known_at,
    tracked
      AND company_id IN (SELECT id FROM main.companies)
      AND coalesce(
        (
          SELECT
            list_contains(CAST(value -> '$.grants' AS VARCHAR[]), 'company')
            AND NOT coalesce(list_contains(CAST(value -> '$.partial' AS VARCHAR[]), 'company'), false)
          FROM sync.capabilities
          WHERE name = 'shape.accounts'
        ),
        true
      )
  FROM companies
  UNION ALL
  SELECT 'account_insights', CAST(id AS VARCHAR), _first_synced_at, false FROM main.accounts WHERE _in_scope
),
accounts_state AS (
  SELECT status, checked_at, walked_at FROM sync.stream_state WHERE stream = 'accounts' AND scope = ''
),
-- A company that was never read by its id came with the response to its input.
resolved AS (
  SELECT company_id, arg_max(states, states.checked_at) AS state
  FROM main.company_inputs AS answered
  JOIN sync.stream_state AS states ON states.stream = 'companies' AND states.scope = 'input:' || answered.input
  WHERE company_id NOT IN (SELECT scope FROM sync.stream_state WHERE stream = 'companies')
  GROUP BY company_id
),
states AS (
  SELECT stream, scope, status, checked_at, walked_at, total_count, error, unconfirmed, unconfirmed_because, cursor
  FROM sync.stream_state
  UNION ALL
  SELECT
    'companies', company_id, state.status, state.checked_at, state.walked_at, state.total_count, state.error,
    state.unconfirmed, state.unconfirmed_because, state.cursor
  FROM resolved
),
parts AS (
  SELECT
    live.stream,
    live.known_at,
    CASE WHEN live.embedded THEN greatest(state.checked_at, parent.checked_at) ELSE state.checked_at END AS checked_at,
    CASE WHEN live.embedded THEN greatest(state.walked_at, parent.walked_at) ELSE state.walked_at END AS walked_at,
    state.status,
    state.total_count,
    state.error,
    state.unconfirmed,
    state.unconfirmed_because,
    state.cursor,
    unusable.stream IS NOT NULL AS is_unusable
  FROM live
  LEFT JOIN states AS state ON state.stream = live.stream AND state.scope = live.scope
  LEFT JOIN accounts_state AS parent ON live.embedded
  LEFT JOIN unusable ON unusable.stream = live.stream AND unusable.scope = live.scope
  WHERE live.stream IN (FROM started)
),
judged AS (
  SELECT
    stream,
    known_at,
    checked_at,
    walked_at,
    status,
    total_count,
    error,
    CASE
      WHEN status = 'walking' AND error IS NULL THEN 'not read to its end'
      WHEN error IS NOT NULL OR status = 'failed' THEN 'the last read failed: ' || coalesce(error, 'unknown')
      WHEN checked_at IS NULL AND is_unusable THEN 'never read: the service refuses it, or its answer cannot be used'
      WHEN checked_at IS NULL THEN 'never read'
      -- A read of changes meets no deleted row; only the service's count could tell of one.
      WHEN unconfirmed_because IS NULL AND total_count IS NULL AND checked_at > walked_at AND stream IN ('accounts', 'contacts', 'signals')
        THEN 'the service does not count this list, so rows deleted since it was last read whole are not known'
      ELSE unconfirmed_because
    END AS open_because,
    -- Rows that the unfinished walk of a list has not read yet.
    CASE
      WHEN status = 'walking' THEN greatest(0, coalesce(
        try_cast(cursor AS JSON) ->> '$.progress.coverage.total', '0')::BIGINT - coalesce(
        try_cast(cursor AS JSON) ->> '$.progress.coverage.end', '0')::BIGINT)
      -- A profile or an insight is one row.
      WHEN checked_at IS NULL AND is_unusable AND stream IN ('companies', 'account_insights') THEN 1
      ELSE coalesce(unconfirmed, 0)
    END AS open_rows
  FROM parts
),
streams AS (
  SELECT
    judged.stream,
    count(*) AS scopes,
    count(*) FILTER (status = 'failed' OR error IS NOT NULL) AS failed_scopes,
    count(*) FILTER (status = 'walking') AS walking_scopes,
    count(*) FILTER (checked_at IS NULL) AS unchecked_scopes,
    max(checked_at) AS last_checked_at,
    min(checked_at) AS oldest_checked_at,
    min(coalesce(checked_at, known_at)) AS behind_since,
    min(walked_at) AS oldest_walked_at,
    sum(total_count)::BIGINT AS total_count,
    max(error) AS error,
    count(open_because) AS open_scopes,
    coalesce(sum(open_rows) FILTER (open_because IS NOT NULL), 0)::BIGINT AS unconfirmed,
    CASE
      WHEN count(open_because) = 0 THEN NULL
      WHEN count(*) = 1 THEN any_value(open_because)
      ELSE count(open_because) || ' of ' || count(*) ||
        CASE judged.stream
          WHEN 'companies' THEN ' profiles: '
          WHEN 'account_insights' THEN ' insights: '
          WHEN 'usage' THEN ' parts: '
          ELSE ' lists: '
        END || mode(open_because)
    END AS because
  FROM judged
  GROUP BY judged.stream
),
unresolved AS (
  SELECT count(*) AS inputs FROM inputs WHERE input NOT IN (SELECT input FROM main.company_inputs)
),
-- Signals that the list returns and whose detail the service refuses, lacks or returns unusable: it is asked for again.
contentless AS (
  SELECT count(*) AS signals
  FROM unusable
  WHERE stream = 'signals' AND scope IN (SELECT 'detail:' || id FROM main.signals)
),
-- Owners whom the last whole walk embedded in no account, or whose absence a guard did not believe.
unmet_owners AS (
  SELECT count(*) AS owners
  FROM main.owners
  WHERE id IN (
    SELECT unnest(CAST(value -> '$.ids' AS VARCHAR[])) FROM sync.capabilities WHERE name = 'unlisted.owners'
  )
),
-- Why the accounts are not confirmed, of which companies and insights are known.
above AS (
  SELECT max(streams.because) AS because
  FROM streams
  JOIN configured ON configured.stream = streams.stream
  WHERE streams.stream = 'accounts'
),
verdicts AS (
  SELECT
    tables.table_name,
    CASE
      WHEN tables.stream NOT IN (FROM started) THEN 'never read'
      WHEN tier.is_public AND tables.stream IN ('accounts', 'contacts', 'signals', 'signal_counts', 'account_insights') THEN
        CASE
          WHEN tables.row_count > 0 AND tables.stream <> 'signal_counts'
            THEN 'the organization has no Full Access since ' || tier.since || '; the rows are of the time before'
          WHEN NOT tier.proven THEN 'the account list was empty once; it is asked for again after a day'
        END
      WHEN tables.stream IN (
        'companies', 'account_insights',
        -- each table (of companies), joined by ,
        '{stream}'
        -- end
      ) THEN
        CASE
          -- Lists below accounts are known only once the accounts are read.
          WHEN parent.status IS NULL AND streams.scopes IS NULL AND NOT coalesce(tier.is_public, false) THEN 'accounts were never read, and no company is followed'
          WHEN parent.status <> 'idle' AND NOT coalesce(tier.is_public, false) THEN 'accounts are not read to their end'
          WHEN parent.checked_at IS NULL AND 'accounts' IN (SELECT stream FROM configured) AND NOT coalesce(tier.is_public, false)
            THEN 'accounts were never read'
          WHEN above.because IS NOT NULL AND NOT coalesce(tier.is_public, false) THEN 'accounts are not confirmed: ' || above.because
          WHEN unresolved.inputs > 0 AND tables.stream <> 'account_insights' THEN unresolved.inputs || ' inputs are not resolved'
          ELSE streams.because
        END
      WHEN tables.stream = 'signals' AND streams.because IS NULL AND contentless.signals > 0
        THEN 'the service does not return the content of ' || contentless.signals || ' signals yet'
      WHEN tables.table_name = 'owners' AND streams.because IS NULL AND unmet_owners.owners > 0
        THEN 'no account brings ' || unmet_owners.owners || ' owners along any more; the next walk of all accounts settles it'
      ELSE streams.because
    END AS because
  FROM tables
  CROSS JOIN unresolved
  CROSS JOIN contentless
  CROSS JOIN unmet_owners
  CROSS JOIN above
  LEFT JOIN tier ON true
  LEFT JOIN streams ON streams.stream = tables.stream
  LEFT JOIN accounts_state AS parent ON true
)
SELECT
  tables.table_name,
  tables.stream,
  tables.row_count,
  tables.last_change_at,
  streams.last_checked_at,
  streams.oldest_checked_at,
  round((epoch(now()) - epoch(streams.behind_since)) / 3600, 2) AS hours_behind,
  streams.behind_since + to_milliseconds(configured.max_age_ms) AS due_at,
  round(configured.max_age_ms / 3600000, 2) AS max_age_hours,
  streams.oldest_walked_at,
  streams.total_count,
  coalesce(streams.scopes, 0) AS scopes,
  coalesce(streams.unchecked_scopes, 0) AS unchecked_scopes,
  coalesce(streams.walking_scopes, 0) AS walking_scopes,
  coalesce(streams.failed_scopes, 0) AS failed_scopes,
  streams.error,
  verdicts.because IS NULL AS complete,
  CASE WHEN verdicts.because IS NULL THEN 0 ELSE nullif(streams.unconfirmed, 0) END AS unconfirmed,
  verdicts.because AS reason,
  verdicts.because AS unconfirmed_because
FROM tables
JOIN verdicts ON verdicts.table_name = tables.table_name
LEFT JOIN streams ON streams.stream = tables.stream
LEFT JOIN configured ON configured.stream = tables.stream
ORDER BY tables.place;

COMMENT ON VIEW marts.freshness IS 'How much each table holds, how old it is, and whether it is proven to be complete. One row per mirrored table.';
COMMENT ON COLUMN marts.freshness.table_name IS 'Table in schema main.';
COMMENT ON COLUMN marts.freshness.stream IS 'Stream that fills it, as `duckmirror sync` names it.';
COMMENT ON COLUMN marts.freshness.row_count IS 'Rows.';
COMMENT ON COLUMN marts.freshness.last_change_at IS 'When a row last changed; rows that stay as they are do not count.';
COMMENT ON COLUMN marts.freshness.last_checked_at IS 'When any part of the stream was last compared with the service; NULL: never.';
COMMENT ON COLUMN marts.freshness.oldest_checked_at IS 'The same for the part that is furthest behind.';
COMMENT ON COLUMN marts.freshness.hours_behind IS 'Hours since the part that is furthest behind was compared with the service or, if it never was, became known; at the moment of the query.';
COMMENT ON COLUMN marts.freshness.due_at IS 'When that part becomes older than the stream''s max_age; NULL: nothing was checked, or the stream is not configured.';
COMMENT ON COLUMN marts.freshness.max_age_hours IS 'The stream''s max_age in hours, as configured in the last run; NULL: not configured.';
COMMENT ON COLUMN marts.freshness.oldest_walked_at IS 'When the part that is furthest behind was last read completely.';
COMMENT ON COLUMN marts.freshness.total_count IS 'Rows the service says its lists hold; NULL: it never said.';
COMMENT ON COLUMN marts.freshness.scopes IS 'Parts of the stream that are followed: the organization, or each company or account.';
COMMENT ON COLUMN marts.freshness.unchecked_scopes IS 'Parts never checked yet.';
COMMENT ON COLUMN marts.freshness.walking_scopes IS 'Parts that are not read to their end yet.';
COMMENT ON COLUMN marts.freshness.failed_scopes IS 'Parts whose last check failed.';
COMMENT ON COLUMN marts.freshness.error IS 'One of the failures.';
COMMENT ON COLUMN marts.freshness.complete IS 'Whether the last complete walk of every part added up and its deletes were settled.';
COMMENT ON COLUMN marts.freshness.unconfirmed IS 'Rows that could not be confirmed; 0 where complete, NULL where their number is unknown.';
COMMENT ON COLUMN marts.freshness.reason IS 'Why it is not complete, in one sentence; NULL where it is.';
COMMENT ON COLUMN marts.freshness.unconfirmed_because IS 'The same as reason, by its former name.';
