// What `search` reads: per table its title, its texts and its date. Readings, owners and inputs are not searched.
import type { TableName } from "./tables.ts";

export interface Searchable {
  /** SQL of the title over the table's columns; a match there counts more. */
  readonly title: string;
  /** Text and JSON columns, in the order in which a snippet is taken from them. */
  readonly texts: readonly string[];
  /** Column of the date by which `--since` chooses. */
  readonly at: string;
}

export const SEARCHABLE = {
  accounts: {
    title: "name",
    texts: ["domain", "industry", "headquarters_location", "description", "summary", "insights", "point_of_view"],
    at: "updated_at",
  },
  contacts: {
    title: "concat_ws(' ', first_name, last_name)",
    texts: [
      ...["current_title", "current_company_name", "location", "previous_title", "previous_company_name", "email"],
      ...["talking_points", "person_insights", "matching_target_keywords"],
    ],
    at: "last_change_detected_on",
  },
  signals: {
    title: "headline",
    texts: ["description", "smart_summary", "matching_keywords", "full_content"],
    at: "date",
  },
  companies: {
    title: "name",
    texts: ["domain", "industry", "headquarters_location", "main_stock_symbol", "description", "insights"],
    at: "_synced_at",
  },
  news_articles: {
    title: "headline",
    texts: ["publisher", "description", "excerpt", "article_body"],
    at: "date_published",
  },
  job_openings: {
    title: "title",
    texts: ["company_name", "location", "job_function", "industries", "seniority_level", "job_description"],
    at: "posted_on",
  },
  earnings_calls: {
    title: "concat_ws(' ', stock_symbol, year, concat('Q', quarter))",
    texts: ["generated_analysis", "full_transcript"],
    at: "happened_at",
  },
  filings: {
    title: "concat_ws(' ', type, fiscal_year)",
    texts: ["accession_number", "full_content"],
    at: "filing_date",
  },
  account_insights: {
    title: "json_extract_string(profile, '$.name')",
    texts: ["summary", "research", "swot_analysis", "value"],
    at: "_synced_at",
  },
} as const satisfies Partial<Record<TableName, Searchable>>;

export type SearchableTable = keyof typeof SEARCHABLE;

export const isSearchable = (name: string): name is SearchableTable => Object.hasOwn(SEARCHABLE, name);
export const SEARCHABLE_TABLES = Object.keys(SEARCHABLE).filter(isSearchable);
