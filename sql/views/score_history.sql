-- Purpose: score of each account over time. Consecutive versions with the same score are one interval.
-- Grain: one row per account and interval of constant score. A deleted account has no current interval.
-- Readers: analysts, marts.account_360.
CREATE OR REPLACE VIEW marts.score_history AS
WITH versions AS (
  SELECT id, name, main_score, main_score_components AS components, valid_from, valid_to FROM history.accounts
  UNION ALL
  SELECT id, name, main_score, main_score_components AS components, _synced_at AS valid_from, NULL AS valid_to FROM main.accounts
),
ordered AS (
  SELECT
    id,
    name,
    main_score,
    components,
    valid_from,
    valid_to,
    lag(main_score) OVER versions_of_account AS score_before,
    -- A gap between two versions: the account did not exist in between.
    coalesce(lag(valid_to) OVER versions_of_account = valid_from, false) AS follows_on
  FROM versions
  WINDOW versions_of_account AS (PARTITION BY id ORDER BY valid_from, valid_to NULLS LAST)
),
numbered AS (
  SELECT
    id,
    name,
    main_score,
    components,
    valid_from,
    valid_to,
    sum(CASE WHEN follows_on AND main_score IS NOT DISTINCT FROM score_before THEN 0 ELSE 1 END)
      OVER (PARTITION BY id ORDER BY valid_from, valid_to NULLS LAST) AS interval_number
  FROM ordered
),
intervals AS (
  SELECT
    id,
    interval_number,
    arg_max(name, valid_from) AS name,
    any_value(main_score) AS main_score,
    arg_min(components, valid_from) AS first_components,
    arg_max(components, valid_from) AS last_components,
    min(valid_from) AS valid_from,
    CASE WHEN bool_or(valid_to IS NULL) THEN NULL ELSE max(valid_to) END AS valid_to
  FROM numbered
  GROUP BY id, interval_number
)
SELECT
  id AS account_id,
  name AS account_name,
  main_score,
  lag(main_score) OVER (PARTITION BY id ORDER BY interval_number) AS previous_score,
  round(main_score - lag(main_score) OVER (PARTITION BY id ORDER BY interval_number), 6) AS score_change,
  first_components AS score_components,
  lag(last_components) OVER (PARTITION BY id ORDER BY interval_number) AS previous_components,
  valid_from,
  valid_to,
  valid_to IS NULL AS is_current
FROM intervals;

COMMENT ON VIEW marts.score_history IS 'How the score of each account moved. One row per account and interval in which its score held.';
COMMENT ON COLUMN marts.score_history.account_id IS 'Account: accounts.id.';
COMMENT ON COLUMN marts.score_history.account_name IS 'Name of the account at the end of the interval.';
COMMENT ON COLUMN marts.score_history.main_score IS 'Score in the interval, 0 to 100; NULL when the service sent none.';
COMMENT ON COLUMN marts.score_history.previous_score IS 'Score in the interval before; NULL in the first one.';
COMMENT ON COLUMN marts.score_history.score_change IS 'main_score minus previous_score, rounded to six decimals.';
COMMENT ON COLUMN marts.score_history.score_components IS 'What the score was made of when it moved here (main_score_components); NULL when the service sent none.';
COMMENT ON COLUMN marts.score_history.previous_components IS 'What the score before was made of at its end: the difference says why it moved.';
COMMENT ON COLUMN marts.score_history.valid_from IS 'When the mirror first saw this score.';
COMMENT ON COLUMN marts.score_history.valid_to IS 'When the mirror saw another score or the account was gone; NULL while it holds.';
COMMENT ON COLUMN marts.score_history.is_current IS 'Whether this is the score now.';
