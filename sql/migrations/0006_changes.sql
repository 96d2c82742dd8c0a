-- The change feed: every insert, update and delete of the mirrored tables has a number, 1, 2, 3, ... in commit order.
-- A change has no copy of its values: they are in main and in history (docs/decisions/change-feed.md).

-- Where the feed begins. One row. Numbers up to gone_to are no longer kept. pending: the feed still has to start after
-- gone_to, with the rows that exist; a new mirror's feed starts with its first row.
CREATE TABLE sync.change_feed (
  gone_to BIGINT NOT NULL,
  pending BOOLEAN NOT NULL
);
INSERT INTO sync.change_feed SELECT 0, applied > 0 FROM sync.journal;

-- One row per stretch of consecutive changes that one transaction made of one kind.
CREATE TABLE sync.change_batches (
  first_n BIGINT NOT NULL,
  last_n BIGINT NOT NULL,
  table_name VARCHAR NOT NULL,
  change VARCHAR NOT NULL,
  run_id VARCHAR,
  "at" TIMESTAMPTZ NOT NULL
);

-- One row per change: its number, and the key of the row as text, in the order of the table's key columns.
CREATE TABLE sync.changes (
  n BIGINT NOT NULL,
  key_1 VARCHAR NOT NULL,
  key_2 VARCHAR,
  key_3 VARCHAR
);

-- The change that ended a version; NULL for versions that ended before the feed began.
ALTER TABLE history.accounts ADD COLUMN change_n BIGINT;
ALTER TABLE history.owners ADD COLUMN change_n BIGINT;
ALTER TABLE history.contacts ADD COLUMN change_n BIGINT;
ALTER TABLE history.signals ADD COLUMN change_n BIGINT;
ALTER TABLE history.signal_counts ADD COLUMN change_n BIGINT;
ALTER TABLE history.companies ADD COLUMN change_n BIGINT;
ALTER TABLE history.company_inputs ADD COLUMN change_n BIGINT;
ALTER TABLE history.news_articles ADD COLUMN change_n BIGINT;
ALTER TABLE history.job_openings ADD COLUMN change_n BIGINT;
ALTER TABLE history.earnings_calls ADD COLUMN change_n BIGINT;
ALTER TABLE history.filings ADD COLUMN change_n BIGINT;
ALTER TABLE history.account_insights ADD COLUMN change_n BIGINT;
ALTER TABLE history.usage_snapshots ADD COLUMN change_n BIGINT;
ALTER TABLE history.usage_breakdown ADD COLUMN change_n BIGINT;
ALTER TABLE history.usage_requests ADD COLUMN change_n BIGINT;
ALTER TABLE history.usage_limits ADD COLUMN change_n BIGINT;
