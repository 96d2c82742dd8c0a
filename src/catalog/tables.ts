// THE table of tables: tables of schema `main` with their keys and columns.
// Columns beyond these (`_first_synced_at`, `_synced_at`, `_run_id`, `_extra`) are added to every table.
import type { FieldSpec } from "./fields.ts";
import * as resource from "./resources.ts";

// The views for analysts in schema `marts`; their statements are in sql/views.

/** Files of sql/views, each after those it reads from. */
export const VIEW_NAMES = [
  "score_history",
  "signal_timeline",
  "signals_daily",
  "contact_moves",
  "champion_alerts",
  "hiring_trend",
  "job_timeline",
  "funding_events",
  "earnings_calendar",
  "filing_timeline",
  "insight_items",
  "swot_items",
  "credit_burn",
  "usage_by_endpoint",
  "usage_by_key",
  "freshness",
  "data_quality",
  "account_360",
  "owner_accounts",
  "recent_changes",
] as const;

export type ViewName = (typeof VIEW_NAMES)[number];

export interface TableSpec {
  readonly name: TableName;
  /** Key columns, in order: the PRIMARY KEY. */
  readonly key: readonly string[];
  readonly fields: readonly FieldSpec[];
  /** Those of them that a response may lack although the record has a value. */
  readonly uncertain: readonly FieldSpec[];
  /** Grain: one row per ... */
  readonly grain: string;
  /** Field that is filled from the request's path when the record lacks it. */
  readonly fromPath?: string;
  /** Column of a company's list that dates its rows: `/v1` returns the newest first, exports sort by it. */
  readonly datedBy?: string;
  /** What `search` reads; absent: readings, owners and inputs are not searched. */
  readonly search?: Search;
}

export interface Search {
  /** SQL of the title over the table's columns; a match there counts more. */
  readonly title: string;
  /** Text and JSON columns, in the order in which a snippet is taken from them. */
  readonly texts: readonly string[];
  /** Column of the date by which `--since` chooses; absent: `datedBy`, else when the version was written. */
  readonly at?: string;
}

type More = Pick<TableSpec, "fromPath" | "datedBy" | "search">;

const table = (grain: string, key: readonly string[], fields: readonly FieldSpec[], more: More = {}) => ({
  ...{ grain, key, fields },
  ...more,
});

/** Table of a list that every company has. */
const companyTable = (what: string, fields: readonly FieldSpec[], datedBy: string, search?: Search) =>
  table(`One row per company and ${what}.`, ["company_id", "id"], fields, {
    fromPath: "companyId",
    datedBy,
    ...(search === undefined ? {} : { search }),
  });

/** Lists that every company has: each has the route `/v1/companies/{companyId}/<name>`, and a stream of its name. */
const companyTables = {
  news_articles: companyTable("article", resource.newsArticle, "date_published", {
    title: "headline",
    texts: ["publisher", "description", "excerpt", "article_body"],
  }),
  job_openings: companyTable("job opening", resource.jobOpening, "posted_on", {
    title: "title",
    texts: ["company_name", "location", "job_function", "industries", "seniority_level", "job_description"],
  }),
  earnings_calls: companyTable("earnings call", resource.earningsCall, "happened_at", {
    title: "concat_ws(' ', stock_symbol, year, concat('Q', quarter))",
    texts: ["generated_analysis", "full_transcript"],
  }),
  filings: companyTable("filing", resource.filing, "filing_date", {
    title: "concat_ws(' ', type, fiscal_year)",
    texts: ["accession_number", "full_content"],
  }),
};

const specs = {
  accounts: table("One row per tracked account.", ["id"], resource.account, {
    search: {
      title: "name",
      texts: ["domain", "industry", "headquarters_location", "description", "summary", "insights", "point_of_view"],
      at: "updated_at",
    },
  }),
  owners: table("One row per user who owns an account.", ["id"], resource.owner),
  contacts: table("One row per contact.", ["id"], resource.contact, {
    search: {
      title: "concat_ws(' ', first_name, last_name)",
      texts: [
        ...["current_title", "current_company_name", "location", "previous_title", "previous_company_name", "email"],
        ...["talking_points", "person_insights", "matching_target_keywords"],
      ],
      at: "last_change_detected_on",
    },
  }),
  signals: table("One row per business event.", ["id"], resource.signal, {
    search: {
      title: "headline",
      texts: ["description", "smart_summary", "matching_keywords", "full_content"],
      at: "date",
    },
  }),
  signal_counts: table("One row per reading and signal type.", ["captured_at", "type"], resource.signalCount),
  companies: table("One row per company, tracked or followed.", ["id"], resource.company, {
    search: {
      title: "name",
      texts: ["domain", "industry", "headquarters_location", "main_stock_symbol", "description", "insights"],
    },
  }),
  company_inputs: table("One row per followed input.", ["input"], resource.companyInput),
  ...companyTables,
  account_insights: table("One row per account.", ["account_id"], resource.accountInsight, {
    fromPath: "accountId",
    search: {
      title: "json_extract_string(profile, '$.name')",
      texts: ["summary", "research", "swot_analysis", "value"],
    },
  }),
  usage_snapshots: table("One row per reading of the quota.", ["captured_at"], resource.usageSnapshot),
  usage_breakdown: table("One row per reading and group.", ["captured_at", "group_by", "key"], resource.usageBreakdown),
  usage_requests: table("One row per request in the service's own history.", ["id"], resource.usageRequest),
  usage_limits: table("One row per reading of the contracted limits.", ["captured_at"], resource.usageLimit),
} as const;

export type CompanyTable = keyof typeof companyTables;
export const COMPANY_TABLES: readonly CompanyTable[] = Object.keys(companyTables) as readonly CompanyTable[];

export type TableName = keyof typeof specs;

/** Tables whose rows the setting `scope` chooses. */
export const SCOPED_TABLES = ["accounts", "contacts", "signals"] as const;
export type ScopedTable = (typeof SCOPED_TABLES)[number];
export const isScopedTable = (name: string): name is ScopedTable => SCOPED_TABLES.some((table) => table === name);

/** Readings of usage, which retention of the ledger removes: src/warehouse/file/upkeep/history-retention.ts. */
const USAGE_TABLES = ["usage_snapshots", "usage_breakdown", "usage_requests", "usage_limits"] as const;
export const isUsageTable = (name: string): boolean => USAGE_TABLES.some((table) => table === name);

export const TABLE_NAMES: readonly TableName[] = Object.keys(specs) as readonly TableName[];

/** Calls `make` once for each table that is asked for: for what is the same in every request and every page of it. */
export const perTable = <T extends object>(make: (name: TableName) => T): ((name: TableName) => T) => {
  const made = new Map<TableName, T>();
  return (name) => {
    const known = made.get(name);
    if (known !== undefined) return known;
    const fresh = make(name);
    made.set(name, fresh);
    return fresh;
  };
};

export const tableSpec = perTable((name): TableSpec => {
  const uncertain = specs[name].fields.filter(({ detailOnly, namedOnly }) => detailOnly || namedOnly);
  return { name, uncertain, ...specs[name] };
});

/** True for a list of a company: its rows are inside the row scope if their company is. */
export const isCompanyTable = (name: TableName): boolean => COMPANY_TABLES.some((table) => table === name);

/** Tables that `search` reads. */
export const SEARCHED_TABLES: readonly TableName[] = TABLE_NAMES.filter((name) => tableSpec(name).search !== undefined);

/** True for a table with a column `_in_scope`: of rows that the setting `scope` chooses, or that belong to such a row. */
export const hasScopeMark = (name: string): boolean =>
  isScopedTable(name) || name === "companies" || (isTableName(name) && tableSpec(name).fromPath !== undefined);

export const isTableName = (name: string): name is TableName => Object.hasOwn(specs, name);
