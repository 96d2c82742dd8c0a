// Generates the SQL of the analysts' views from sql/views and the catalog: parts that repeat for each table, such as the versions of
// marts.recent_changes and the tables of schema asof. Pure; file/views.ts creates the views.
import type { FieldSpec } from "../../catalog/fields.ts";
import {
  isUsageTable,
  TABLE_NAMES,
  type TableName,
  tableSpec,
  VIEW_NAMES,
  type ViewName,
} from "../../catalog/tables.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";
import { sqlText } from "../duckdb/sql-files.ts";

// Texts of the program's views and table macros, and what each selects: a file from elsewhere is compared with it
// (user-sql/gate/inspect-catalog.ts). PURE, but for the SQL files.

/** Text of a view; parts that repeat for each table come from the catalog. */
export const viewText = (name: ViewName): string =>
  sqlText(`views/${name}.sql`).replace(VERSIONS_MARK, recentVersions).replace(NAMES_MARK, recentNames);

const VIEW = /^CREATE OR REPLACE VIEW (?<name>[\w.]+) AS\n(?<select>.*?);$/ms;
const MACRO = /^CREATE OR REPLACE MACRO (?<name>[\w."]+)\(moment\) AS TABLE\n(?<select>.*?);$/ms;

const found = (kind: string, pattern: RegExp, text: string): readonly (readonly [string, string])[] => {
  const { name, select } = pattern.exec(text)?.groups ?? {};
  return name === undefined || select === undefined ? [] : [[`${kind} ${name.replaceAll('"', "")}`, select]];
};

/** Each view and macro by its name in the catalog, as `view marts.freshness`, with its SELECT. */
export const ownSelects = (): ReadonlyMap<string, string> =>
  new Map([
    ...VIEW_NAMES.flatMap((name) => found("view", VIEW, viewText(name))),
    ...asOfStatements().flatMap((text) => found("macro", MACRO, text)),
  ]);

// The past as SQL: a table macro `as_of.<table>(moment)` for every mirrored table, generated from the catalog. Pure.
// The contract names the schema `asof`, which is a keyword of DuckDB and needs quotes in each query; so it exists under both
// names. A version is valid from its `_synced_at` until the change that ended it, so at each moment a key has at most one row.
// Plain SQL that any DuckDB from 1.2 on reads.

const SCHEMAS = ["as_of", '"asof"'] as const;
/** Columns that every table of `main` and `history` has beside those of its records. */
const OWN_COLUMNS = ["_first_synced_at", "_synced_at", "_run_id", "_extra"];

/**
 * Statement that creates `as_of.<table>(moment)`: the rows that `main.<table>` held at `moment` (TIMESTAMPTZ, or text that
 * casts to it), with its columns but `_in_scope`, whose past is not kept.
 */
const asOfMacro = (schema: (typeof SCHEMAS)[number], table: TableName): string => {
  const columns = [...tableSpec(table).fields.map(({ column }) => column), ...OWN_COLUMNS].map(quoted).join(", ");
  const at = "CAST(moment AS TIMESTAMPTZ)";
  return `CREATE OR REPLACE MACRO ${schema}.${quoted(table)}(moment) AS TABLE
SELECT ${columns} FROM main.${quoted(table)} WHERE _synced_at <= ${at}
UNION ALL
SELECT ${columns} FROM history.${quoted(table)} WHERE valid_from <= ${at} AND valid_to > ${at};`;
};

export const asOfStatements = (): readonly string[] =>
  SCHEMAS.flatMap((schema) => [
    `CREATE SCHEMA IF NOT EXISTS ${schema};`,
    ...TABLE_NAMES.map((table) => asOfMacro(schema, table)),
  ]);

/** Placeholder in sql/views/recent_changes.sql for the versions. */
export const VERSIONS_MARK = "/* versions of every table */";

/** Columns that name a row for a reader, the best first. */
const TITLES = ["name", "headline", "title", "input", "accession_number", "stock_symbol", "type"];

/** Fields that only say that something else changed. */
const MARKS_OF_CHANGE = new Set(["updated_at", "last_refresh_at"]);

const COMPARED = TABLE_NAMES.filter((name) => !isUsageTable(name) && name !== "signal_counts");

/** Text that is the same in every time zone. */
const asText = ({ column, columnType }: FieldSpec): string =>
  columnType === "TIMESTAMPTZ"
    ? `strftime(make_timestamp(epoch_us(v.${quoted(column)})), '%Y-%m-%dT%H:%M:%SZ')`
    : `CAST(v.${quoted(column)} AS VARCHAR)`;

const titleOf = (table: TableName): string => {
  if (table === "contacts") return "concat_ws(' ', v.first_name, v.last_name)";
  const names = new Set(tableSpec(table).fields.map(({ column }) => column));
  const titles = TITLES.filter((title) => names.has(title)).map((title) => `v.${title}`);
  return titles.length === 0 ? "NULL" : `coalesce(${titles.join(", ")})`;
};

const parentOf = (table: TableName, column: "account_id" | "company_id"): string => {
  const own = column === "account_id" ? "accounts" : "companies";
  if (table === own) return "v.id";
  return tableSpec(table).fields.some((field) => field.column === column) ? `v.${column}` : "NULL";
};

const versionsOfTable = (table: TableName): string => {
  const { key, fields } = tableSpec(table);
  const compared = fields.filter(
    ({ column, optIn }) => !optIn && !key.includes(column) && !MARKS_OF_CHANGE.has(column),
  );
  const keys = key.map(quoted).join(", ");
  const columns = [...new Set([...fields.filter(({ optIn }) => !optIn).map(({ column }) => column), ...key])].map(
    quoted,
  );
  const list = columns.join(", ");
  return `SELECT
  ${literal(table)} AS table_name,
  concat_ws('/', ${key.map((column) => `CAST(v.${quoted(column)} AS VARCHAR)`).join(", ")}) AS key,
  CAST(${parentOf(table, "account_id")} AS BIGINT) AS account_id,
  CAST(${parentOf(table, "company_id")} AS VARCHAR) AS company_id,
  ${titleOf(table)} AS title,
  v.change_n,
  v.change,
  v.valid_to,
  [${compared.map(({ column }) => literal(column)).join(", ")}] AS fields,
  [${compared.map(asText).join(", ")}] AS present
FROM (
  SELECT ${list}, change_n, change, valid_to FROM history.${quoted(table)}
  WHERE change_n IS NOT NULL
  UNION ALL
  SELECT ${list}, NULL AS change_n, NULL AS change, NULL AS valid_to FROM main.${quoted(table)}
) AS v
WHERE (${keys}) IN (
  SELECT (${keys}) FROM history.${quoted(table)} WHERE change_n >= (SELECT first_n FROM span)
)`;
};

/** Every version of the rows that changed lately, of every table. */
export const recentVersions = (): string => COMPARED.map(versionsOfTable).join("\nUNION ALL\n");

/** Names of rows that came lately, for changes that are no versions. */
export const recentNames = (): string =>
  COMPARED.map((table) => {
    const { key } = tableSpec(table);
    return `SELECT ${literal(table)} AS table_name, concat_ws('/', ${key.map((column) => `CAST(v.${quoted(column)} AS VARCHAR)`).join(", ")}) AS key, CAST(${parentOf(table, "account_id")} AS BIGINT) AS account_id, CAST(${parentOf(table, "company_id")} AS VARCHAR) AS company_id, ${titleOf(table)} AS title FROM main.${quoted(table)} AS v`;
  }).join("\nUNION ALL\n");

/** Placeholder in sql/views/recent_changes.sql for the names. */
export const NAMES_MARK = "/* names of the rows of every table */";
