-- The audit trail: who did what, when. Its truth are the lines in state/audit, which every process appends to; the writer
-- loads new lines before it publishes. One row per action; no key, because the row of an action's begin is replaced.
CREATE TABLE sync.audit (
  id VARCHAR NOT NULL,
  started_at TIMESTAMPTZ NOT NULL,
  actor VARCHAR NOT NULL,
  way VARCHAR NOT NULL,
  os_user VARCHAR,
  address VARCHAR,
  action VARCHAR NOT NULL,
  subject VARCHAR,
  route VARCHAR,
  parameters VARCHAR[],
  sql VARCHAR,
  sql_length BIGINT,
  sql_hash VARCHAR,
  run_id VARCHAR,
  outcome VARCHAR NOT NULL,
  rows BIGINT,
  bytes BIGINT,
  duration_ms BIGINT,
  unwritten BIGINT
);
-- How far each file has been loaded, written in the transaction of its rows, so each line is loaded once.
CREATE TABLE sync.audit_files (
  file VARCHAR NOT NULL,
  loaded_bytes BIGINT NOT NULL,
  damaged BIGINT NOT NULL,
  problem VARCHAR
);
