-- What retention removed from the ledger, so that sums since the mirror began stay right.
-- One row per endpoint, HTTP status ('none': no answer came) and charge.
CREATE TABLE sync.removed_requests (
  endpoint VARCHAR,
  status VARCHAR,
  charge VARCHAR,
  requests BIGINT NOT NULL,
  duration_ms DOUBLE NOT NULL,
  "rows" BIGINT NOT NULL,
  bytes BIGINT NOT NULL,
  first_at TIMESTAMPTZ NOT NULL,
  last_at TIMESTAMPTZ NOT NULL,
  PRIMARY KEY (endpoint, status, charge)
);
-- One row per status of a run.
CREATE TABLE sync.removed_runs (
  status VARCHAR PRIMARY KEY,
  runs BIGINT NOT NULL,
  first_at TIMESTAMPTZ NOT NULL,
  last_at TIMESTAMPTZ NOT NULL
);
