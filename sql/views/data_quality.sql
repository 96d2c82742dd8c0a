-- Purpose: problems and gaps: records that became no row, differences from API.md, fields without a value.
-- Grain: one row per table, check, field and detail.
-- test/src/warehouse/views/operations.test.ts holds the list of fields equal to the catalog.
-- Readers: operators, data teams.
CREATE OR REPLACE VIEW marts.data_quality AS
WITH counted AS (
  SELECT 'accounts' AS table_name, count(*) AS row_count, [
      {'field': 'id', 'required': true, 'filled': count("id")},
      {'field': 'organization_id', 'required': true, 'filled': count("organization_id")},
      {'field': 'company_id', 'required': false, 'filled': count("company_id")},
      {'field': 'owner_id', 'required': false, 'filled': count("owner_id")},
      {'field': 'created_at', 'required': true, 'filled': count("created_at")},
      {'field': 'updated_at', 'required': true, 'filled': count("updated_at")},
      {'field': 'name', 'required': false, 'filled': count("name")},
      {'field': 'domain', 'required': false, 'filled': count("domain")},
      {'field': 'logo_url', 'required': false, 'filled': count("logo_url")},
      {'field': 'featured_image_url', 'required': false, 'filled': count("featured_image_url")},
      {'field': 'description', 'required': false, 'filled': count("description")},
      {'field': 'industry', 'required': false, 'filled': count("industry")},
      {'field': 'headquarters_location', 'required': false, 'filled': count("headquarters_location")},
      {'field': 'number_of_employees', 'required': false, 'filled': count("number_of_employees")},
      {'field': 'type', 'required': true, 'filled': count("type")},
      {'field': 'priority', 'required': false, 'filled': count("priority")},
      {'field': 'main_score', 'required': false, 'filled': count("main_score")},
      {'field': 'main_score_components', 'required': false, 'filled': count("main_score_components")},
      {'field': 'summary', 'required': false, 'filled': count("summary")},
      {'field': 'insights', 'required': false, 'filled': count("insights")},
      {'field': 'swot_analysis', 'required': false, 'filled': count("swot_analysis")},
      {'field': 'three_whys', 'required': false, 'filled': count("three_whys")},
      {'field': 'value_pyramid', 'required': false, 'filled': count("value_pyramid")},
      {'field': 'value_proposition', 'required': false, 'filled': count("value_proposition")},
      {'field': 'value_hypothesis', 'required': false, 'filled': count("value_hypothesis")},
      {'field': 'point_of_view', 'required': false, 'filled': count("point_of_view")},
      {'field': 'professional_network_url', 'required': false, 'filled': count("professional_network_url")},
      {'field': 'funding_data_url', 'required': false, 'filled': count("funding_data_url")},
      {'field': 'contact_data_url', 'required': false, 'filled': count("contact_data_url")},
      {'field': 'crm_url', 'required': false, 'filled': count("crm_url")},
      {'field': 'sales_tool_url', 'required': false, 'filled': count("sales_tool_url")},
      {'field': 'added_on', 'required': false, 'filled': count("added_on")},
      {'field': 'last_refresh_at', 'required': false, 'filled': count("last_refresh_at")},
      {'field': 'country_code', 'required': false, 'filled': count("country_code")}
    ] AS fields
  FROM main.accounts
  UNION ALL
  SELECT 'owners', count(*), [
      {'field': 'id', 'required': true, 'filled': count("id")},
      {'field': 'data', 'required': false, 'filled': count("data")}
    ]
  FROM main.owners
  UNION ALL
  SELECT 'contacts', count(*), [
      {'field': 'id', 'required': true, 'filled': count("id")},
      {'field': 'organization_id', 'required': true, 'filled': count("organization_id")},
      {'field': 'account_id', 'required': false, 'filled': count("account_id")},
      {'field': 'first_name', 'required': false, 'filled': count("first_name")},
      {'field': 'last_name', 'required': false, 'filled': count("last_name")},
      {'field': 'current_title', 'required': false, 'filled': count("current_title")},
      {'field': 'current_company_name', 'required': false, 'filled': count("current_company_name")},
      {'field': 'change_type', 'required': false, 'filled': count("change_type")},
      {'field': 'in_current_role_since', 'required': false, 'filled': count("in_current_role_since")},
      {'field': 'last_change_detected_on', 'required': false, 'filled': count("last_change_detected_on")},
      {'field': 'main_score', 'required': false, 'filled': count("main_score")},
      {'field': 'professional_network_url', 'required': false, 'filled': count("professional_network_url")},
      {'field': 'email', 'required': false, 'filled': count("email")},
      {'field': 'email_status', 'required': false, 'filled': count("email_status")},
      {'field': 'phone', 'required': false, 'filled': count("phone")},
      {'field': 'location', 'required': false, 'filled': count("location")},
      {'field': 'previous_title', 'required': false, 'filled': count("previous_title")},
      {'field': 'previous_company_name', 'required': false, 'filled': count("previous_company_name")},
      {'field': 'profile_picture_url', 'required': false, 'filled': count("profile_picture_url")},
      {'field': 'type', 'required': false, 'filled': count("type")},
      {'field': 'contact_role', 'required': false, 'filled': count("contact_role")},
      {'field': 'person_insights', 'required': false, 'filled': count("person_insights")},
      {'field': 'talking_points', 'required': false, 'filled': count("talking_points")},
      {'field': 'position_when_former_user', 'required': false, 'filled': count("position_when_former_user")},
      {'field': 'intro_paths', 'required': false, 'filled': count("intro_paths")},
      {'field': 'matching_target_keywords', 'required': false, 'filled': count("matching_target_keywords")},
      {'field': 'matching_target_job_titles', 'required': false, 'filled': count("matching_target_job_titles")},
      {'field': 'matching_target_locations', 'required': false, 'filled': count("matching_target_locations")},
      {'field': 'matching_target_technologies', 'required': false, 'filled': count("matching_target_technologies")}
    ]
  FROM main.contacts
  UNION ALL
  SELECT 'signals', count(*), [
      {'field': 'id', 'required': true, 'filled': count("id")},
      {'field': 'organization_id', 'required': true, 'filled': count("organization_id")},
      {'field': 'account_id', 'required': true, 'filled': count("account_id")},
      {'field': 'type', 'required': true, 'filled': count("type")},
      {'field': 'subtype', 'required': false, 'filled': count("subtype")},
      {'field': 'headline', 'required': true, 'filled': count("headline")},
      {'field': 'description', 'required': false, 'filled': count("description")},
      {'field': 'date', 'required': true, 'filled': count("date")},
      {'field': 'sources', 'required': false, 'filled': count("sources")},
      {'field': 'matching_keywords', 'required': false, 'filled': count("matching_keywords")},
      {'field': 'relevance', 'required': false, 'filled': count("relevance")},
      {'field': 'full_content', 'required': false, 'filled': count("full_content")},
      {'field': 'smart_summary', 'required': false, 'filled': count("smart_summary")},
      {'field': 'play_urls', 'required': false, 'filled': count("play_urls")},
      {'field': 'slides_urls', 'required': false, 'filled': count("slides_urls")},
      {'field': 'documents_urls', 'required': false, 'filled': count("documents_urls")},
      {'field': 'clinical_trial_primary_completion_date', 'required': false, 'filled': count("clinical_trial_primary_completion_date")},
      {'field': 'clinical_trial_study_completion_date', 'required': false, 'filled': count("clinical_trial_study_completion_date")},
      {'field': 'clinical_trial_last_known_status', 'required': false, 'filled': count("clinical_trial_last_known_status")},
      {'field': 'clinical_trial_collaborators', 'required': false, 'filled': count("clinical_trial_collaborators")},
      {'field': 'created_at', 'required': true, 'filled': count("created_at")},
      {'field': 'updated_at', 'required': true, 'filled': count("updated_at")}
    ]
  FROM main.signals
  UNION ALL
  SELECT 'signal_counts', count(*), [
      {'field': 'captured_at', 'required': true, 'filled': count("captured_at")},
      {'field': 'type', 'required': true, 'filled': count("type")},
      {'field': 'count', 'required': false, 'filled': count("count")}
    ]
  FROM main.signal_counts
  UNION ALL
  SELECT 'companies', count(*), [
      {'field': 'id', 'required': true, 'filled': count("id")},
      {'field': 'name', 'required': false, 'filled': count("name")},
      {'field': 'domain', 'required': false, 'filled': count("domain")},
      {'field': 'website_url', 'required': false, 'filled': count("website_url")},
      {'field': 'description', 'required': false, 'filled': count("description")},
      {'field': 'industry', 'required': false, 'filled': count("industry")},
      {'field': 'headquarters_location', 'required': false, 'filled': count("headquarters_location")},
      {'field': 'number_of_employees', 'required': false, 'filled': count("number_of_employees")},
      {'field': 'main_stock_symbol', 'required': false, 'filled': count("main_stock_symbol")},
      {'field': 'funding_data_url', 'required': false, 'filled': count("funding_data_url")},
      {'field': 'professional_network_url', 'required': false, 'filled': count("professional_network_url")},
      {'field': 'contact_data_url', 'required': false, 'filled': count("contact_data_url")},
      {'field': 'fiscal_year_info', 'required': false, 'filled': count("fiscal_year_info")},
      {'field': 'insights', 'required': false, 'filled': count("insights")}
    ]
  FROM main.companies
  UNION ALL
  SELECT 'company_inputs', count(*), [
      {'field': 'input', 'required': true, 'filled': count("input")},
      {'field': 'company_id', 'required': false, 'filled': count("company_id")},
      {'field': 'status', 'required': false, 'filled': count("status")},
      {'field': 'resolved_at', 'required': false, 'filled': count("resolved_at")}
    ]
  FROM main.company_inputs
  UNION ALL
  SELECT 'news_articles', count(*), [
      {'field': 'id', 'required': true, 'filled': count("id")},
      {'field': 'company_id', 'required': false, 'filled': count("company_id")},
      {'field': 'headline', 'required': false, 'filled': count("headline")},
      {'field': 'url', 'required': true, 'filled': count("url")},
      {'field': 'date_published', 'required': true, 'filled': count("date_published")},
      {'field': 'description', 'required': false, 'filled': count("description")},
      {'field': 'excerpt', 'required': false, 'filled': count("excerpt")},
      {'field': 'publisher', 'required': false, 'filled': count("publisher")},
      {'field': 'publisher_url', 'required': false, 'filled': count("publisher_url")},
      {'field': 'featured_image_url', 'required': false, 'filled': count("featured_image_url")},
      {'field': 'article_body', 'required': false, 'filled': count("article_body")}
    ]
  FROM main.news_articles
  UNION ALL
  SELECT 'job_openings', count(*), [
      {'field': 'id', 'required': true, 'filled': count("id")},
      {'field': 'company_id', 'required': false, 'filled': count("company_id")},
      {'field': 'status', 'required': false, 'filled': count("status")},
      {'field': 'url', 'required': true, 'filled': count("url")},
      {'field': 'title', 'required': false, 'filled': count("title")},
      {'field': 'company_name', 'required': false, 'filled': count("company_name")},
      {'field': 'location', 'required': false, 'filled': count("location")},
      {'field': 'posted_on', 'required': true, 'filled': count("posted_on")},
      {'field': 'applicants', 'required': false, 'filled': count("applicants")},
      {'field': 'seniority_level', 'required': false, 'filled': count("seniority_level")},
      {'field': 'employment_type', 'required': false, 'filled': count("employment_type")},
      {'field': 'job_function', 'required': false, 'filled': count("job_function")},
      {'field': 'industries', 'required': false, 'filled': count("industries")},
      {'field': 'job_description', 'required': false, 'filled': count("job_description")}
    ]
  FROM main.job_openings
  UNION ALL
  SELECT 'earnings_calls', count(*), [
      {'field': 'id', 'required': true, 'filled': count("id")},
      {'field': 'company_id', 'required': false, 'filled': count("company_id")},
      {'field': 'stock_symbol', 'required': false, 'filled': count("stock_symbol")},
      {'field': 'year', 'required': false, 'filled': count("year")},
      {'field': 'quarter', 'required': false, 'filled': count("quarter")},
      {'field': 'happened_at', 'required': false, 'filled': count("happened_at")},
      {'field': 'audio_url', 'required': false, 'filled': count("audio_url")},
      {'field': 'report_url', 'required': false, 'filled': count("report_url")},
      {'field': 'presentation_url', 'required': false, 'filled': count("presentation_url")},
      {'field': 'full_transcript', 'required': false, 'filled': count("full_transcript")},
      {'field': 'generated_analysis', 'required': false, 'filled': count("generated_analysis")}
    ]
  FROM main.earnings_calls
  UNION ALL
  SELECT 'filings', count(*), [
      {'field': 'id', 'required': true, 'filled': count("id")},
      {'field': 'company_id', 'required': false, 'filled': count("company_id")},
      {'field': 'type', 'required': false, 'filled': count("type")},
      {'field': 'accession_number', 'required': false, 'filled': count("accession_number")},
      {'field': 'url', 'required': false, 'filled': count("url")},
      {'field': 'filing_date', 'required': false, 'filled': count("filing_date")},
      {'field': 'report_date', 'required': false, 'filled': count("report_date")},
      {'field': 'fiscal_year', 'required': false, 'filled': count("fiscal_year")},
      {'field': 'quarter', 'required': false, 'filled': count("quarter")},
      {'field': 'full_content', 'required': false, 'filled': count("full_content")}
    ]
  FROM main.filings
  UNION ALL
  SELECT 'account_insights', count(*), [
      {'field': 'account_id', 'required': true, 'filled': count("account_id")},
      {'field': 'status', 'required': true, 'filled': count("status")},
      {'field': 'profile', 'required': false, 'filled': count("profile")},
      {'field': 'summary', 'required': false, 'filled': count("summary")},
      {'field': 'research', 'required': false, 'filled': count("research")},
      {'field': 'swot_analysis', 'required': false, 'filled': count("swot_analysis")},
      {'field': 'value', 'required': false, 'filled': count("value")}
    ]
  FROM main.account_insights
  UNION ALL
  SELECT 'usage_snapshots', count(*), [
      {'field': 'captured_at', 'required': true, 'filled': count("captured_at")},
      {'field': 'source', 'required': false, 'filled': count("source")},
      {'field': 'limit', 'required': false, 'filled': count("limit")},
      {'field': 'used', 'required': false, 'filled': count("used")},
      {'field': 'remaining', 'required': false, 'filled': count("remaining")},
      {'field': 'resets_at', 'required': false, 'filled': count("resets_at")},
      {'field': 'window', 'required': false, 'filled': count("window")},
      {'field': 'from', 'required': false, 'filled': count("from")},
      {'field': 'to', 'required': false, 'filled': count("to")},
      {'field': 'requests', 'required': false, 'filled': count("requests")},
      {'field': 'successful', 'required': false, 'filled': count("successful")},
      {'field': 'failed', 'required': false, 'filled': count("failed")}
    ]
  FROM main.usage_snapshots
  UNION ALL
  SELECT 'usage_breakdown', count(*), [
      {'field': 'captured_at', 'required': true, 'filled': count("captured_at")},
      {'field': 'group_by', 'required': true, 'filled': count("group_by")},
      {'field': 'key', 'required': true, 'filled': count("key")},
      {'field': 'requests', 'required': false, 'filled': count("requests")},
      {'field': 'successful', 'required': false, 'filled': count("successful")},
      {'field': 'failed', 'required': false, 'filled': count("failed")}
    ]
  FROM main.usage_breakdown
  UNION ALL
  SELECT 'usage_requests', count(*), [
      {'field': 'id', 'required': true, 'filled': count("id")},
      {'field': 'occurred_at', 'required': false, 'filled': count("occurred_at")},
      {'field': 'endpoint', 'required': false, 'filled': count("endpoint")},
      {'field': 'successful', 'required': false, 'filled': count("successful")},
      {'field': 'error', 'required': false, 'filled': count("error")},
      {'field': 'api_key_id', 'required': false, 'filled': count("api_key_id")},
      {'field': 'input', 'required': false, 'filled': count("input")}
    ]
  FROM main.usage_requests
  UNION ALL
  SELECT 'usage_limits', count(*), [
      {'field': 'captured_at', 'required': true, 'filled': count("captured_at")},
      {'field': 'data', 'required': false, 'filled': count("data")}
    ]
  FROM main.usage_limits
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
