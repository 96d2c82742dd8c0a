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
  /** Grain: one row per ... */
  readonly grain: string;
  /** Field that is filled from the request's path when the record lacks it. */
  readonly fromPath?: string;
  /** Column of a company's list that dates its rows: `/v1` returns the newest first, exports sort by it. */
  readonly datedBy?: string;
}

const table = (
  grain: string,
  key: readonly string[],
  fields: readonly FieldSpec[],
  more: Pick<TableSpec, "fromPath" | "datedBy"> = {},
) => ({ grain, key, fields, ...more });

const specs = {
  accounts: table("One row per tracked account.", ["id"], resource.account),
  owners: table("One row per user who owns an account.", ["id"], resource.owner),
  contacts: table("One row per contact.", ["id"], resource.contact),
  signals: table("One row per business event.", ["id"], resource.signal),
  signal_counts: table("One row per reading and signal type.", ["captured_at", "type"], resource.signalCount),
  companies: table("One row per company, tracked or followed.", ["id"], resource.company),
  company_inputs: table("One row per followed input.", ["input"], resource.companyInput),
  news_articles: table("One row per company and article.", ["company_id", "id"], resource.newsArticle, {
    fromPath: "companyId",
    datedBy: "date_published",
  }),
  job_openings: table("One row per company and job opening.", ["company_id", "id"], resource.jobOpening, {
    fromPath: "companyId",
    datedBy: "posted_on",
  }),
  earnings_calls: table("One row per company and earnings call.", ["company_id", "id"], resource.earningsCall, {
    fromPath: "companyId",
    datedBy: "happened_at",
  }),
  filings: table("One row per company and filing.", ["company_id", "id"], resource.filing, {
    fromPath: "companyId",
    datedBy: "filing_date",
  }),
  account_insights: table("One row per account.", ["account_id"], resource.accountInsight, { fromPath: "accountId" }),
  usage_snapshots: table("One row per reading of the quota.", ["captured_at"], resource.usageSnapshot),
  usage_breakdown: table("One row per reading and group.", ["captured_at", "group_by", "key"], resource.usageBreakdown),
  usage_requests: table("One row per request in the service's own history.", ["id"], resource.usageRequest),
  usage_limits: table("One row per reading of the contracted limits.", ["captured_at"], resource.usageLimit),
} as const;

export type TableName = keyof typeof specs;

/** Tables whose rows the setting `scope` chooses. */
export const SCOPED_TABLES = ["accounts", "contacts", "signals"] as const;
export type ScopedTable = (typeof SCOPED_TABLES)[number];
export const isScopedTable = (name: string): name is ScopedTable => SCOPED_TABLES.some((table) => table === name);

/** Readings of usage, which retention of the ledger removes: src/warehouse/file/upkeep/history-retention.ts. */
const USAGE_TABLES = ["usage_snapshots", "usage_breakdown", "usage_requests", "usage_limits"] as const;
export const isUsageTable = (name: string): boolean => USAGE_TABLES.some((table) => table === name);

export const TABLE_NAMES: readonly TableName[] = Object.keys(specs) as readonly TableName[];

/** Specs that were asked for. A sync asks for the same ones several times per request. */
const made = new Map<TableName, TableSpec>();

/** The spec of a table. */
export const tableSpec = (name: TableName): TableSpec => {
  const known = made.get(name);
  if (known !== undefined) return known;
  const spec: TableSpec = { name, ...specs[name] };
  made.set(name, spec);
  return spec;
};

/** True for a list of a company: its rows are inside the row scope if their company is. */
export const isCompanyTable = (name: TableName): boolean => tableSpec(name).fromPath === "companyId";

/** True for a table with a column `_in_scope`: of rows that the setting `scope` chooses, or that belong to such a row. */
export const hasScopeMark = (name: string): boolean =>
  isScopedTable(name) || name === "companies" || (isTableName(name) && tableSpec(name).fromPath !== undefined);

/** True when the text names a table. */
export const isTableName = (name: string): name is TableName => Object.hasOwn(specs, name);
