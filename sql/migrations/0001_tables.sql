-- Every table of the warehouse contract: main (what the API returns now), history (superseded and deleted versions),
-- sync (runs, state, ledger), marts (views for analysts, filled by sql/views).
-- Columns follow src/catalog; test/src/warehouse/migrations.test.ts holds the two equal.
-- Never edited once merged: a change is a new migration.

CREATE SCHEMA IF NOT EXISTS history;
CREATE SCHEMA IF NOT EXISTS sync;
CREATE SCHEMA IF NOT EXISTS marts;

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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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
  change VARCHAR
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

-- One row per stream and scope (a company, an account, an input; '' for the organization): where its walk stands.
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
  PRIMARY KEY (stream, scope)
);

-- One row per HTTP call. charge: spent, free, ambiguous. credits: 1 spent, 0 free, NULL while unknown.
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
  error VARCHAR
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
