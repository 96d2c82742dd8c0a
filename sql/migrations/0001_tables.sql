-- Every table of the warehouse contract: main (what the API returns now), history (superseded and deleted versions),
-- sync (runs, state, ledger), marts (views for analysts, filled by sql/views).
-- Columns follow src/catalog; test/src/warehouse/file/migrate.test.ts holds the two equal.
-- Never edited once merged: a change is a new migration.

CREATE SCHEMA IF NOT EXISTS history;
CREATE SCHEMA IF NOT EXISTS sync;
CREATE SCHEMA IF NOT EXISTS marts;

-- _in_scope: whether syncs keep the row up to date. A new version of a row was returned by its list, so it is inside.
-- change_n: the change that ended the version.

-- One row per tracked account.
CREATE TABLE main."accounts" (
  "id" BIGINT,
  "organization_id" VARCHAR,
  "company_id" VARCHAR,
  "owner_id" VARCHAR,
  "created_at" TIMESTAMPTZ,
  "updated_at" TIMESTAMPTZ,
  "name" VARCHAR,
  "domain" VARCHAR,
  "logo_url" VARCHAR,
  "featured_image_url" VARCHAR,
  "description" VARCHAR,
  "industry" VARCHAR,
  "headquarters_location" VARCHAR,
  "number_of_employees" BIGINT,
  "type" VARCHAR,
  "priority" INTEGER,
  "main_score" DOUBLE,
  "main_score_components" JSON,
  "summary" JSON,
  "insights" JSON,
  "swot_analysis" JSON,
  "three_whys" JSON,
  "value_pyramid" JSON,
  "value_proposition" JSON,
  "value_hypothesis" JSON,
  "point_of_view" JSON,
  "professional_network_url" VARCHAR,
  "funding_data_url" VARCHAR,
  "contact_data_url" VARCHAR,
  "crm_url" VARCHAR,
  "sales_tool_url" VARCHAR,
  "added_on" TIMESTAMPTZ,
  "last_refresh_at" TIMESTAMPTZ,
  "country_code" VARCHAR,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  _in_scope BOOLEAN DEFAULT true,
  PRIMARY KEY ("id")
);
-- One row per superseded or deleted version of a row of main.accounts.
CREATE TABLE history."accounts" (
  "id" BIGINT,
  "organization_id" VARCHAR,
  "company_id" VARCHAR,
  "owner_id" VARCHAR,
  "created_at" TIMESTAMPTZ,
  "updated_at" TIMESTAMPTZ,
  "name" VARCHAR,
  "domain" VARCHAR,
  "logo_url" VARCHAR,
  "featured_image_url" VARCHAR,
  "description" VARCHAR,
  "industry" VARCHAR,
  "headquarters_location" VARCHAR,
  "number_of_employees" BIGINT,
  "type" VARCHAR,
  "priority" INTEGER,
  "main_score" DOUBLE,
  "main_score_components" JSON,
  "summary" JSON,
  "insights" JSON,
  "swot_analysis" JSON,
  "three_whys" JSON,
  "value_pyramid" JSON,
  "value_proposition" JSON,
  "value_hypothesis" JSON,
  "point_of_view" JSON,
  "professional_network_url" VARCHAR,
  "funding_data_url" VARCHAR,
  "contact_data_url" VARCHAR,
  "crm_url" VARCHAR,
  "sales_tool_url" VARCHAR,
  "added_on" TIMESTAMPTZ,
  "last_refresh_at" TIMESTAMPTZ,
  "country_code" VARCHAR,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per user who owns an account.
CREATE TABLE main."owners" (
  "id" VARCHAR,
  "data" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  PRIMARY KEY ("id")
);
-- One row per superseded or deleted version of a row of main.owners.
CREATE TABLE history."owners" (
  "id" VARCHAR,
  "data" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per contact.
CREATE TABLE main."contacts" (
  "id" VARCHAR,
  "organization_id" VARCHAR,
  "account_id" BIGINT,
  "first_name" VARCHAR,
  "last_name" VARCHAR,
  "current_title" VARCHAR,
  "current_company_name" VARCHAR,
  "change_type" VARCHAR,
  "in_current_role_since" TIMESTAMPTZ,
  "last_change_detected_on" TIMESTAMPTZ,
  "main_score" DOUBLE,
  "professional_network_url" VARCHAR,
  "email" VARCHAR,
  "email_status" VARCHAR,
  "phone" VARCHAR,
  "location" VARCHAR,
  "previous_title" VARCHAR,
  "previous_company_name" VARCHAR,
  "profile_picture_url" VARCHAR,
  "type" VARCHAR,
  "contact_role" VARCHAR,
  "person_insights" JSON,
  "talking_points" JSON,
  "position_when_former_user" JSON,
  "intro_paths" VARCHAR[],
  "matching_target_keywords" VARCHAR[],
  "matching_target_job_titles" VARCHAR[],
  "matching_target_locations" VARCHAR[],
  "matching_target_technologies" VARCHAR[],
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  _in_scope BOOLEAN DEFAULT true,
  PRIMARY KEY ("id")
);
-- One row per superseded or deleted version of a row of main.contacts.
CREATE TABLE history."contacts" (
  "id" VARCHAR,
  "organization_id" VARCHAR,
  "account_id" BIGINT,
  "first_name" VARCHAR,
  "last_name" VARCHAR,
  "current_title" VARCHAR,
  "current_company_name" VARCHAR,
  "change_type" VARCHAR,
  "in_current_role_since" TIMESTAMPTZ,
  "last_change_detected_on" TIMESTAMPTZ,
  "main_score" DOUBLE,
  "professional_network_url" VARCHAR,
  "email" VARCHAR,
  "email_status" VARCHAR,
  "phone" VARCHAR,
  "location" VARCHAR,
  "previous_title" VARCHAR,
  "previous_company_name" VARCHAR,
  "profile_picture_url" VARCHAR,
  "type" VARCHAR,
  "contact_role" VARCHAR,
  "person_insights" JSON,
  "talking_points" JSON,
  "position_when_former_user" JSON,
  "intro_paths" VARCHAR[],
  "matching_target_keywords" VARCHAR[],
  "matching_target_job_titles" VARCHAR[],
  "matching_target_locations" VARCHAR[],
  "matching_target_technologies" VARCHAR[],
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per business event.
CREATE TABLE main."signals" (
  "id" BIGINT,
  "organization_id" VARCHAR,
  "account_id" BIGINT,
  "type" VARCHAR,
  "subtype" VARCHAR,
  "headline" VARCHAR,
  "description" VARCHAR,
  "date" TIMESTAMPTZ,
  "sources" VARCHAR[],
  "matching_keywords" VARCHAR[],
  "relevance" JSON,
  "full_content" VARCHAR,
  "smart_summary" JSON,
  "play_urls" JSON,
  "slides_urls" VARCHAR[],
  "documents_urls" VARCHAR[],
  "clinical_trial_primary_completion_date" TIMESTAMPTZ,
  "clinical_trial_study_completion_date" TIMESTAMPTZ,
  "clinical_trial_last_known_status" VARCHAR,
  "clinical_trial_collaborators" VARCHAR[],
  "created_at" TIMESTAMPTZ,
  "updated_at" TIMESTAMPTZ,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  _in_scope BOOLEAN DEFAULT true,
  PRIMARY KEY ("id")
);
-- One row per superseded or deleted version of a row of main.signals.
CREATE TABLE history."signals" (
  "id" BIGINT,
  "organization_id" VARCHAR,
  "account_id" BIGINT,
  "type" VARCHAR,
  "subtype" VARCHAR,
  "headline" VARCHAR,
  "description" VARCHAR,
  "date" TIMESTAMPTZ,
  "sources" VARCHAR[],
  "matching_keywords" VARCHAR[],
  "relevance" JSON,
  "full_content" VARCHAR,
  "smart_summary" JSON,
  "play_urls" JSON,
  "slides_urls" VARCHAR[],
  "documents_urls" VARCHAR[],
  "clinical_trial_primary_completion_date" TIMESTAMPTZ,
  "clinical_trial_study_completion_date" TIMESTAMPTZ,
  "clinical_trial_last_known_status" VARCHAR,
  "clinical_trial_collaborators" VARCHAR[],
  "created_at" TIMESTAMPTZ,
  "updated_at" TIMESTAMPTZ,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per reading and signal type.
CREATE TABLE main."signal_counts" (
  "captured_at" TIMESTAMPTZ,
  "type" VARCHAR,
  "count" BIGINT,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  PRIMARY KEY ("captured_at", "type")
);
-- One row per superseded or deleted version of a row of main.signal_counts.
CREATE TABLE history."signal_counts" (
  "captured_at" TIMESTAMPTZ,
  "type" VARCHAR,
  "count" BIGINT,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per company, tracked or followed.
CREATE TABLE main."companies" (
  "id" VARCHAR,
  "name" VARCHAR,
  "domain" VARCHAR,
  "website_url" VARCHAR,
  "description" VARCHAR,
  "industry" VARCHAR,
  "headquarters_location" VARCHAR,
  "number_of_employees" BIGINT,
  "main_stock_symbol" VARCHAR,
  "funding_data_url" VARCHAR,
  "professional_network_url" VARCHAR,
  "contact_data_url" VARCHAR,
  "fiscal_year_info" JSON,
  "insights" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  _in_scope BOOLEAN DEFAULT true,
  PRIMARY KEY ("id")
);
-- One row per superseded or deleted version of a row of main.companies.
CREATE TABLE history."companies" (
  "id" VARCHAR,
  "name" VARCHAR,
  "domain" VARCHAR,
  "website_url" VARCHAR,
  "description" VARCHAR,
  "industry" VARCHAR,
  "headquarters_location" VARCHAR,
  "number_of_employees" BIGINT,
  "main_stock_symbol" VARCHAR,
  "funding_data_url" VARCHAR,
  "professional_network_url" VARCHAR,
  "contact_data_url" VARCHAR,
  "fiscal_year_info" JSON,
  "insights" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per followed input.
CREATE TABLE main."company_inputs" (
  "input" VARCHAR,
  "company_id" VARCHAR,
  "status" VARCHAR,
  "resolved_at" TIMESTAMPTZ,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  PRIMARY KEY ("input")
);
-- One row per superseded or deleted version of a row of main.company_inputs.
CREATE TABLE history."company_inputs" (
  "input" VARCHAR,
  "company_id" VARCHAR,
  "status" VARCHAR,
  "resolved_at" TIMESTAMPTZ,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per company and article.
CREATE TABLE main."news_articles" (
  "id" VARCHAR,
  "company_id" VARCHAR,
  "headline" VARCHAR,
  "url" VARCHAR,
  "date_published" TIMESTAMPTZ,
  "description" VARCHAR,
  "excerpt" VARCHAR,
  "publisher" VARCHAR,
  "publisher_url" VARCHAR,
  "featured_image_url" VARCHAR,
  "article_body" VARCHAR,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  _in_scope BOOLEAN DEFAULT true,
  PRIMARY KEY ("company_id", "id")
);
-- One row per superseded or deleted version of a row of main.news_articles.
CREATE TABLE history."news_articles" (
  "id" VARCHAR,
  "company_id" VARCHAR,
  "headline" VARCHAR,
  "url" VARCHAR,
  "date_published" TIMESTAMPTZ,
  "description" VARCHAR,
  "excerpt" VARCHAR,
  "publisher" VARCHAR,
  "publisher_url" VARCHAR,
  "featured_image_url" VARCHAR,
  "article_body" VARCHAR,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per company and job opening.
CREATE TABLE main."job_openings" (
  "id" VARCHAR,
  "company_id" VARCHAR,
  "status" VARCHAR,
  "url" VARCHAR,
  "title" VARCHAR,
  "company_name" VARCHAR,
  "location" VARCHAR,
  "posted_on" TIMESTAMPTZ,
  "applicants" VARCHAR,
  "seniority_level" VARCHAR,
  "employment_type" VARCHAR,
  "job_function" VARCHAR,
  "industries" VARCHAR,
  "job_description" VARCHAR,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  _in_scope BOOLEAN DEFAULT true,
  PRIMARY KEY ("company_id", "id")
);
-- One row per superseded or deleted version of a row of main.job_openings.
CREATE TABLE history."job_openings" (
  "id" VARCHAR,
  "company_id" VARCHAR,
  "status" VARCHAR,
  "url" VARCHAR,
  "title" VARCHAR,
  "company_name" VARCHAR,
  "location" VARCHAR,
  "posted_on" TIMESTAMPTZ,
  "applicants" VARCHAR,
  "seniority_level" VARCHAR,
  "employment_type" VARCHAR,
  "job_function" VARCHAR,
  "industries" VARCHAR,
  "job_description" VARCHAR,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per company and earnings call.
CREATE TABLE main."earnings_calls" (
  "id" BIGINT,
  "company_id" VARCHAR,
  "stock_symbol" VARCHAR,
  "year" INTEGER,
  "quarter" INTEGER,
  "happened_at" TIMESTAMPTZ,
  "audio_url" VARCHAR,
  "report_url" VARCHAR,
  "presentation_url" VARCHAR,
  "full_transcript" VARCHAR,
  "generated_analysis" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  _in_scope BOOLEAN DEFAULT true,
  PRIMARY KEY ("company_id", "id")
);
-- One row per superseded or deleted version of a row of main.earnings_calls.
CREATE TABLE history."earnings_calls" (
  "id" BIGINT,
  "company_id" VARCHAR,
  "stock_symbol" VARCHAR,
  "year" INTEGER,
  "quarter" INTEGER,
  "happened_at" TIMESTAMPTZ,
  "audio_url" VARCHAR,
  "report_url" VARCHAR,
  "presentation_url" VARCHAR,
  "full_transcript" VARCHAR,
  "generated_analysis" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per company and filing.
CREATE TABLE main."filings" (
  "id" BIGINT,
  "company_id" VARCHAR,
  "type" VARCHAR,
  "accession_number" VARCHAR,
  "url" VARCHAR,
  "filing_date" TIMESTAMPTZ,
  "report_date" TIMESTAMPTZ,
  "fiscal_year" INTEGER,
  "quarter" INTEGER,
  "full_content" VARCHAR,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  _in_scope BOOLEAN DEFAULT true,
  PRIMARY KEY ("company_id", "id")
);
-- One row per superseded or deleted version of a row of main.filings.
CREATE TABLE history."filings" (
  "id" BIGINT,
  "company_id" VARCHAR,
  "type" VARCHAR,
  "accession_number" VARCHAR,
  "url" VARCHAR,
  "filing_date" TIMESTAMPTZ,
  "report_date" TIMESTAMPTZ,
  "fiscal_year" INTEGER,
  "quarter" INTEGER,
  "full_content" VARCHAR,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per account.
CREATE TABLE main."account_insights" (
  "account_id" BIGINT,
  "status" VARCHAR,
  "profile" JSON,
  "summary" JSON,
  "research" JSON,
  "swot_analysis" JSON,
  "value" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  _in_scope BOOLEAN DEFAULT true,
  PRIMARY KEY ("account_id")
);
-- One row per superseded or deleted version of a row of main.account_insights.
CREATE TABLE history."account_insights" (
  "account_id" BIGINT,
  "status" VARCHAR,
  "profile" JSON,
  "summary" JSON,
  "research" JSON,
  "swot_analysis" JSON,
  "value" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per reading of the quota.
CREATE TABLE main."usage_snapshots" (
  "captured_at" TIMESTAMPTZ,
  "source" VARCHAR,
  "limit" BIGINT,
  "used" BIGINT,
  "remaining" BIGINT,
  "resets_at" TIMESTAMPTZ,
  "window" VARCHAR,
  "from" TIMESTAMPTZ,
  "to" TIMESTAMPTZ,
  "requests" BIGINT,
  "successful" BIGINT,
  "failed" BIGINT,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  PRIMARY KEY ("captured_at")
);
-- One row per superseded or deleted version of a row of main.usage_snapshots.
CREATE TABLE history."usage_snapshots" (
  "captured_at" TIMESTAMPTZ,
  "source" VARCHAR,
  "limit" BIGINT,
  "used" BIGINT,
  "remaining" BIGINT,
  "resets_at" TIMESTAMPTZ,
  "window" VARCHAR,
  "from" TIMESTAMPTZ,
  "to" TIMESTAMPTZ,
  "requests" BIGINT,
  "successful" BIGINT,
  "failed" BIGINT,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per reading and group.
CREATE TABLE main."usage_breakdown" (
  "captured_at" TIMESTAMPTZ,
  "group_by" VARCHAR,
  "key" VARCHAR,
  "requests" BIGINT,
  "successful" BIGINT,
  "failed" BIGINT,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  PRIMARY KEY ("captured_at", "group_by", "key")
);
-- One row per superseded or deleted version of a row of main.usage_breakdown.
CREATE TABLE history."usage_breakdown" (
  "captured_at" TIMESTAMPTZ,
  "group_by" VARCHAR,
  "key" VARCHAR,
  "requests" BIGINT,
  "successful" BIGINT,
  "failed" BIGINT,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per request in the service's own history.
CREATE TABLE main."usage_requests" (
  "id" BIGINT,
  "occurred_at" TIMESTAMPTZ,
  "endpoint" VARCHAR,
  "successful" BOOLEAN,
  "error" VARCHAR,
  "api_key_id" VARCHAR,
  "input" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  PRIMARY KEY ("id")
);
-- One row per superseded or deleted version of a row of main.usage_requests.
CREATE TABLE history."usage_requests" (
  "id" BIGINT,
  "occurred_at" TIMESTAMPTZ,
  "endpoint" VARCHAR,
  "successful" BOOLEAN,
  "error" VARCHAR,
  "api_key_id" VARCHAR,
  "input" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per reading of the contracted limits.
CREATE TABLE main."usage_limits" (
  "captured_at" TIMESTAMPTZ,
  "data" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  PRIMARY KEY ("captured_at")
);
-- One row per superseded or deleted version of a row of main.usage_limits.
CREATE TABLE history."usage_limits" (
  "captured_at" TIMESTAMPTZ,
  "data" JSON,
  _first_synced_at TIMESTAMPTZ,
  _synced_at TIMESTAMPTZ,
  _run_id VARCHAR,
  _extra JSON,
  valid_from TIMESTAMPTZ,
  valid_to TIMESTAMPTZ,
  change VARCHAR,
  change_n BIGINT
);

-- One row per run of duckmirror. status: running, done, failed, interrupted, ... as the run reports it.
CREATE TABLE sync.runs (
  run_id VARCHAR PRIMARY KEY,
  mode VARCHAR NOT NULL,
  status VARCHAR NOT NULL,
  started_at TIMESTAMPTZ NOT NULL,
  finished_at TIMESTAMPTZ,
  forecast JSON,
  summary JSON,
  error VARCHAR
);

-- One row per stream and scope (a company, an account, an input; '' for the organization): its state.
-- unconfirmed_because: NULL means that the last complete walk added up and its deletes were settled. Else unconfirmed counts the
-- rows that this walk could not confirm.
CREATE TABLE sync.stream_state (
  stream VARCHAR,
  scope VARCHAR,
  status VARCHAR NOT NULL,
  walk_id VARCHAR,
  "cursor" VARCHAR,
  watermark TIMESTAMPTZ,
  total_count BIGINT,
  rows_at_walk BIGINT,
  checked_at TIMESTAMPTZ,
  walked_at TIMESTAMPTZ,
  error VARCHAR,
  run_id VARCHAR NOT NULL,
  unconfirmed BIGINT,
  unconfirmed_because VARCHAR,
  PRIMARY KEY (stream, scope)
);

-- One row per HTTP call. charge: spent, free, ambiguous. credits: 1 spent, 0 free, NULL while unknown.
-- request_id is duckmirror's own name of the request, under which its answer is archived; service_request_id and api_version are
-- the service's (meta.requestId, meta.apiVersion). work: look, walk, content, record, reading or verify; budgets count by it.
CREATE TABLE sync.requests (
  request_id VARCHAR PRIMARY KEY,
  run_id VARCHAR NOT NULL,
  stream VARCHAR NOT NULL,
  scope VARCHAR NOT NULL,
  endpoint VARCHAR NOT NULL,
  url VARCHAR NOT NULL,
  status INTEGER,
  charge VARCHAR NOT NULL,
  credits INTEGER,
  started_at TIMESTAMPTZ NOT NULL,
  duration_ms DOUBLE NOT NULL,
  bytes BIGINT NOT NULL,
  "rows" BIGINT NOT NULL,
  attempt INTEGER NOT NULL,
  error VARCHAR,
  service_request_id VARCHAR,
  api_version VARCHAR,
  work VARCHAR
);

-- One row per record that could not become a row. record is its exact JSON text.
CREATE TABLE sync.rejects (
  rejected_at TIMESTAMPTZ NOT NULL,
  run_id VARCHAR NOT NULL,
  request_id VARCHAR NOT NULL,
  stream VARCHAR NOT NULL,
  table_name VARCHAR NOT NULL,
  position BIGINT NOT NULL,
  reason VARCHAR NOT NULL,
  record VARCHAR NOT NULL
);

-- One row per way in which received records differ from API.md.
-- kind: unknown_field, other_type, new_value; detail: the JSON type or the value seen.
CREATE TABLE sync.schema_drift (
  table_name VARCHAR,
  field VARCHAR,
  kind VARCHAR,
  detail VARCHAR,
  occurrences BIGINT NOT NULL,
  first_seen_at TIMESTAMPTZ NOT NULL,
  last_seen_at TIMESTAMPTZ NOT NULL,
  run_id VARCHAR NOT NULL,
  PRIMARY KEY (table_name, field, kind, detail)
);

-- One row per thing learned about the service (largest page, sortable routes, ...).
CREATE TABLE sync.capabilities (
  name VARCHAR PRIMARY KEY,
  value JSON NOT NULL,
  updated_at TIMESTAMPTZ NOT NULL
);

-- One row per record a walk under way has met, possibly repeated: no key, it is only appended to and dropped.
-- company_id is '' where the table's key has none; id is the rest of the key as text.
CREATE TABLE sync.walk_seen (
  walk_id VARCHAR NOT NULL,
  table_name VARCHAR NOT NULL,
  company_id VARCHAR NOT NULL,
  id VARCHAR NOT NULL
);

-- How far the archive's journal has been carried out: the number of the last change that is part of this file.
-- Set in the transaction of each change, so a crash between journal and file shows, and `replay` knows where to go on. One row.
CREATE TABLE sync.journal (
  applied BIGINT NOT NULL
);
INSERT INTO sync.journal VALUES (0);

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

-- The change feed: every insert, update and delete of the mirrored tables has a number, 1, 2, 3, ... in commit order.
-- A change has no copy of its values: they are in main and in history (docs/decisions/change-feed.md).

-- Where the feed begins. One row. Numbers up to gone_to are no longer kept. pending: the feed still has to start after
-- gone_to, with the rows that exist; a new mirror's feed starts with its first row.
CREATE TABLE sync.change_feed (
  gone_to BIGINT NOT NULL,
  pending BOOLEAN NOT NULL
);
INSERT INTO sync.change_feed VALUES (0, false);

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
