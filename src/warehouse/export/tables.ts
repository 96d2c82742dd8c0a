// Describes the tables of an export: selection, partitioning, sort order, and the SELECT of each format. Pure.

import { sqlName } from "../../catalog/dictionary.ts";
import { LEDGER_TABLES } from "../../catalog/ledger-tables.ts";
import { hasScopeMark, TABLE_NAMES, tableSpec, VIEW_NAMES } from "../../catalog/tables.ts";
import { DuckmirrorError } from "../../core/errors.ts";
import { didYouMean } from "../../core/text/did-you-mean.ts";
import { quoted } from "../../core/text/sql-text.ts";

export const EXPORT_FORMATS = ["parquet", "csv", "ndjson"] as const;
export type ExportFormat = (typeof EXPORT_FORMATS)[number];

export interface ExportTable {
  /** Name in `--tables` and of the folder: `signals`, `history.signals`, `marts.account_360`. */
  readonly label: string;
  /** Schema and name, quoted. */
  readonly path: string;
  /** TIMESTAMPTZ column whose month (UTC) selects the file; null: one file. */
  readonly monthOf: string | null;
  /** Sort columns of a file, so that readers can skip row groups; empty: all columns. */
  readonly orderBy: readonly string[];
  /** Columns that identify a version of a row; empty: all columns. */
  readonly version: readonly string[];
  /** Column with the time of a row's last change; null: none. */
  readonly changedAt: string | null;
}

/** Columns that readers filter by; they sort before the key. */
const FILTERED_BY: Readonly<Record<string, readonly string[]>> = {
  signals: ["account_id", "date"],
  contacts: ["account_id"],
};

/** Columns that name a version of a row; none where `forget` changes texts of a row without a new version. */
const versionOf = (name: (typeof TABLE_NAMES)[number], columns: readonly string[]): readonly string[] =>
  name === "usage_requests" ? [] : columns;

const ofMain = (name: (typeof TABLE_NAMES)[number]): ExportTable => {
  const { key, datedBy } = tableSpec(name);
  const first = FILTERED_BY[name] ?? (datedBy === undefined ? [] : ["company_id", datedBy]);
  return {
    label: sqlName({ schema: "main", name }),
    path: `main.${quoted(name)}`,
    monthOf: name === "signals" ? "date" : null,
    orderBy: [...first, ...key.filter((column) => !first.includes(column))],
    // A mark changes without a new version of the row.
    version: versionOf(name, [...key, "_synced_at", "_run_id", ...(hasScopeMark(name) ? ["_in_scope"] : [])]),
    changedAt: "_synced_at",
  };
};

/** History only grows, so with files per month of `valid_to` only the last file changes. */
const ofHistory = (name: (typeof TABLE_NAMES)[number]): ExportTable => {
  const { key } = tableSpec(name);
  return {
    label: sqlName({ schema: "history", name }),
    path: `history.${quoted(name)}`,
    monthOf: "valid_to",
    orderBy: [...key, "valid_from", "valid_to"],
    version: versionOf(name, [...key, "_synced_at", "_run_id", "valid_from", "valid_to", "change"]),
    changedAt: "valid_to",
  };
};

/** Views and tables of schema sync: small, or without a column for the time of change. */
const whole = (schema: "marts" | "sync", name: string): ExportTable => ({
  label: sqlName({ schema, name }),
  path: `${schema}.${quoted(name)}`,
  monthOf: null,
  orderBy: [],
  version: [],
  changedAt: null,
});

const GROUPS: Readonly<Record<string, readonly ExportTable[]>> = {
  main: TABLE_NAMES.map(ofMain),
  history: TABLE_NAMES.map(ofHistory),
  marts: VIEW_NAMES.map((name) => whole("marts", name)),
  sync: LEDGER_TABLES.map(({ name }) => whole("sync", name)),
};

const ALL = Object.values(GROUPS).flat();

/**
 * Tables for the typed names, or for `main`, `history`, `marts`, `sync` (a whole schema). Without names: the tables
 * of main plus `before`, those in the folder already, so that the whole set shows the same time. Throws USAGE on an
 * unknown name.
 */
export const exportTables = (names: readonly string[], before: readonly string[]): readonly ExportTable[] => {
  const wanted = names.length === 0 ? ["main", ...before] : names;
  const labels = new Set<string>();
  for (const typed of wanted) {
    const name = typed.replace(/^main\./, "");
    const group = GROUPS[name] ?? ALL.filter(({ label }) => label === name);
    if (group.length === 0 && names.length > 0) {
      const known = [...Object.keys(GROUPS), ...ALL.map(({ label }) => label)];
      throw new DuckmirrorError("USAGE", { detail: `--tables: there is no table ${typed}.${didYouMean(name, known)}` });
    }
    for (const { label } of group) labels.add(label);
  }
  return ALL.filter(({ label }) => labels.has(label));
};

export interface ExportColumn {
  readonly name: string;
  /** Name of the type in DuckDB. */
  readonly type: string;
}

/** Puts a quote before cells that a spreadsheet would read as a formula (OWASP, CSV injection). */
const guarded = (text: string): string =>
  `CASE WHEN regexp_matches(${text}, '^[=+\\-@＝＋－＠\\t\\r\\n]') THEN '''' || ${text} ELSE ${text} END`;

const cell = ({ name, type }: ExportColumn, format: ExportFormat, guardFormulas: boolean): string => {
  const column = quoted(name);
  // Readers that do not know Parquet's JSON type (polars) see bytes, so JSON is written as text.
  if (format === "parquet") return type === "JSON" ? `CAST(${column} AS VARCHAR) AS ${column}` : column;
  if (type === "TIMESTAMP WITH TIME ZONE") {
    return `strftime(${column} AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ') AS ${column}`;
  }
  if (format === "ndjson") return column;
  const isText = type === "VARCHAR" || type === "JSON" || type.endsWith("[]");
  if (!isText) return column;
  // A list is written as JSON, because DuckDB's own text is ambiguous when an item contains a comma.
  const text = type.endsWith("[]") ? `CAST(to_json(${column}) AS VARCHAR)` : `CAST(${column} AS VARCHAR)`;
  return `${guardFormulas ? guarded(text) : text} AS ${column}`;
};

const FORMAT_OPTIONS: Readonly<Record<ExportFormat, string>> = {
  // Row groups of 24 vectors: small enough to skip, large enough to compress well and to read in parallel.
  parquet: "FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 49152",
  csv: "FORMAT csv, HEADER true",
  ndjson: "FORMAT json",
};

/** UTC day of the partition column; NULL for missing and infinite times. */
const daySql = (column: string): string =>
  `CASE WHEN isfinite(${quoted(column)}) THEN CAST(make_timestamp(epoch_us(${quoted(column)})) AS DATE) END`;

const sinceSql = (table: ExportTable): string =>
  table.changedAt === null ? "($1 IS NULL OR true)" : `($1 IS NULL OR ${quoted(table.changedAt)} >= $1)`;

/** Fingerprint of each part: `$1` since (or NULL). Rows: month, row_count, content. */
export const fingerprintSql = (table: ExportTable, columns: readonly ExportColumn[]): string => {
  const all = columns.map(({ name }) => name);
  // A snapshot of an older version lacks columns.
  const version = table.version.length === 0 ? all : table.version.filter((name) => all.includes(name));
  const day = table.monthOf === null ? "CAST(NULL AS DATE)" : daySql(table.monthOf);
  // Group by day first: formatting the month of each of a million rows takes seven times as long.
  return `SELECT strftime(day, '%Y-%m') AS month, CAST(sum(row_count) AS BIGINT) AS row_count, CAST(sum(content) AS VARCHAR) AS content
FROM (
  SELECT ${day} AS day, count(*) AS row_count, sum(CAST(hash(${version.map(quoted).join(", ")}) AS HUGEINT)) AS content
  FROM ${table.path} WHERE ${sinceSql(table)} GROUP BY 1
) GROUP BY 1 ORDER BY 1`;
};

/**
 * A month's bounds as literals. DuckDB skips row groups before it knows the values of parameters, so with parameters
 * every month would read the whole table.
 */
const withinMonth = (column: string, month: string): string => {
  const [year = 0, number = 1] = month.split("-").map(Number);
  // setUTCFullYear, because Date.UTC reads years below 100 as 19xx.
  const micros = (to: number) => new Date(0).setUTCFullYear(year, number - 1 + to, 1) * 1000;
  return `${column} >= make_timestamptz(${micros(0)}) AND ${column} < make_timestamptz(${micros(1)})`;
};

/** The SELECT list of a file; it also formats the values. */
export const cellsSql = (
  columns: readonly ExportColumn[],
  { format, guardFormulas }: { readonly format: ExportFormat; readonly guardFormulas: boolean },
): string => columns.map((column) => cell(column, format, guardFormulas)).join(", ");

export interface PartFilter {
  /** `2025-01`, `none` for rows without a month; null: the table is one file. */
  readonly month: string | null;
}

/** COPY of one part: `$1` since (or NULL), `$2` path. */
export const copySql = (
  table: ExportTable,
  columns: readonly ExportColumn[],
  filter: PartFilter,
  options: { readonly format: ExportFormat; readonly guardFormulas: boolean },
): string => {
  const order = table.orderBy.length === 0 ? "ALL" : table.orderBy.map(quoted).join(", ");
  const column = table.monthOf === null ? "" : quoted(table.monthOf);
  const month =
    filter.month === null
      ? "true"
      : filter.month === "none"
        ? `(${column} IS NULL OR NOT isfinite(${column}))`
        : withinMonth(column, filter.month);
  return `COPY (SELECT ${cellsSql(columns, options)} FROM ${table.path} WHERE ${sinceSql(table)} AND ${month} ORDER BY ${order})
TO $2 (${FORMAT_OPTIONS[options.format]})`;
};
