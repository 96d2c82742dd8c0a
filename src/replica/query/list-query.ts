// Statements of list and detail routes. PURE: returns SQL text and bound values, executes nothing.
// SQL is built from the catalog, because fields, sort and filters vary with every request.
import type { FieldSpec } from "../../catalog/fields.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";
import { columnOf, rowJson } from "../../warehouse/read/row-json.ts";
import type { Binds } from "./filters.ts";

export interface Statement {
  readonly sql: string;
  readonly values: readonly string[];
}

export interface ListRequest {
  readonly table: TableName;
  readonly fields: readonly FieldSpec[];
  /** Append the content of `_extra`. */
  readonly extra: boolean;
  /** Conditions on alias `t`, with their values already in `binds`. */
  readonly conditions: readonly string[];
  readonly binds: Binds;
  readonly sortBy: FieldSpec;
  readonly sortOrder: "asc" | "desc";
  readonly limit: number;
  readonly offset: number;
  /** Columns whose distinct values on the page are returned, to fetch related records. */
  readonly links: readonly string[];
}

const where = (conditions: readonly string[]): string =>
  conditions.length === 0 ? "" : `WHERE ${conditions.map((condition) => `(${condition})`).join(" AND ")}`;

/** NULLs last in both directions; the key breaks ties, so that pages neither overlap nor skip rows. */
const orderBy = ({ table, sortBy, sortOrder }: ListRequest): string => {
  const direction = sortOrder === "asc" ? "ASC" : "DESC";
  const key = tableSpec(table).key.filter((column) => column !== sortBy.column);
  return [
    `${columnOf(sortBy, "t")} ${direction} NULLS LAST`,
    ...key.map((column) => `t."${column}" ${direction}`),
  ].join(", ");
};

/** Key column that distinguishes records on a page: a list with a two-column key belongs to one company. */
const ownKey = (table: TableName): string => tableSpec(table).key.at(-1) ?? "id";

/**
 * One row: `total` (matching rows) and `keys` (those of the page, in its order, as text). Reads no wide column;
 * `pageStatement` reads the page's records.
 */
export const keysStatement = (request: ListRequest): Statement => {
  const { table, conditions, binds, limit, offset, sortBy } = request;
  const source = `main.${quoted(table)} AS t`;
  const filter = where(conditions);
  const order = orderBy(request);
  const columns = [...new Set([...tableSpec(table).key, sortBy.column])].map((name) => `t.${quoted(name)}`).join(", ");
  // Cut first, then list in the same order: counting positions at the same time would sort every row.
  const page = (from: string) =>
    `(SELECT list(CAST(t.${quoted(ownKey(table))} AS VARCHAR) ORDER BY ${order})
      FROM (SELECT ${columns} FROM ${from} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}) AS t)`;
  // Without a filter the count is known and the order is cut while reading; with one, matching rows are found once.
  const sql =
    filter === ""
      ? `SELECT (SELECT count(*) FROM ${source}) AS total, coalesce(${page(source)}, []) AS keys`
      : `WITH found AS MATERIALIZED (SELECT ${columns} FROM ${source} ${filter})
SELECT (SELECT count(*) FROM found) AS total, coalesce(${page("found AS t")}, []) AS keys`;
  return { sql, values: binds.values };
};

/** Records with these keys, in any order: `key`, `object` (JSON text), `links` (one text per link column). */
export const pageStatement = (request: ListRequest, keys: readonly string[]): Statement => {
  const { table, fields, extra, links, conditions, binds } = request;
  const { key, fields: all } = tableSpec(table);
  const column = ownKey(table);
  const numeric = all.some((field) => field.column === column && field.columnType === "BIGINT");
  const literals = keys.map((text) => literal(numeric ? BigInt(text) : text)).join(", ");
  const isOnPage = `t.${quoted(column)} IN (${literals})`;
  // A key of one column identifies its record, by the index; with two, the conditions hold the other column.
  const shared = key.length === 1 ? { conditions: [], values: [] } : { conditions, values: binds.values };
  return {
    sql: `SELECT CAST(t.${quoted(column)} AS VARCHAR) AS key, ${rowJson(fields, { alias: "t", extra })} AS object,
  [${links.map((link) => `CAST(t.${quoted(link)} AS VARCHAR)`).join(", ")}]::VARCHAR[] AS links
FROM main.${quoted(table)} AS t ${where([...shared.conditions, isOnPage])}`,
    values: shared.values,
  };
};

/** Rows `object` (JSON text) and `key` (text): records of a table by a condition on alias `t`. */
export const recordsStatement = (request: {
  readonly table: TableName;
  readonly fields: readonly FieldSpec[];
  readonly extra: boolean;
  readonly conditions: readonly string[];
  readonly binds: Binds;
  readonly order?: string;
  readonly limit?: number;
}): Statement => {
  const { table, fields, extra, conditions, binds, order, limit } = request;
  const keyColumn = tableSpec(table).key.at(-1) ?? "id";
  return {
    sql: `SELECT ${rowJson(fields, { alias: "t", extra })} AS object, CAST(t."${keyColumn}" AS VARCHAR) AS key
FROM main."${table}" AS t ${where(conditions)}
ORDER BY ${order ?? `t."${keyColumn}"`} ${limit === undefined ? "" : `LIMIT ${limit}`}`,
    values: binds.values,
  };
};
