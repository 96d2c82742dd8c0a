-- Results of the checks (setting `checks`) before the last publish. One row per check.
CREATE TABLE sync.checks (
  "check" VARCHAR NOT NULL,
  severity VARCHAR NOT NULL,
  status VARCHAR NOT NULL,
  failing BIGINT,
  sample JSON,
  run_id VARCHAR,
  "at" TIMESTAMPTZ NOT NULL
);
