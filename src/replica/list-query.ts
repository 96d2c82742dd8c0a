// The statements behind list and detail routes. PURE: SQL text and bound values in, nothing executed.
// SQL is built here from the catalog, since fields, sort and filters vary with every request.
import type { FieldSpec } from "../catalog/fields.ts";
import { type TableName, tableSpec } from "../catalog/tables.ts";
import type { Binds } from "./filters.ts";
import { columnOf, rowJson } from "./row-json.ts";

export interface Statement {
  readonly sql: string;
  readonly values: readonly string[];
}

export interface ListRequest {
  readonly table: TableName;
  readonly fields: readonly FieldSpec[];
  /** Append what stands in `_extra`. */
  readonly extra: boolean;
  /** Conditions on alias `t`, with their values already in `binds`. */
  readonly conditions: readonly string[];
  readonly binds: Binds;
  readonly sortBy: FieldSpec;
  readonly sortOrder: "asc" | "desc";
  readonly limit: number;
  readonly offset: number;
  /** Columns whose distinct values on the page are wanted, to fetch related records. */
  readonly links: readonly string[];
}

const quoted = (name: string): string => `"${name}"`;

const where = (conditions: readonly string[]): string =>
  conditions.length === 0 ? "" : `WHERE ${conditions.map((condition) => `(${condition})`).join(" AND ")}`;

/** NULLs last in both directions; the key breaks ties, so that pages neither overlap nor skip. */
const orderBy = ({ table, sortBy, sortOrder }: ListRequest): string => {
  const direction = sortOrder === "asc" ? "ASC" : "DESC";
  const key = tableSpec(table).key.filter((column) => column !== sortBy.column);
  return [
    `${columnOf(sortBy, "t")} ${direction} NULLS LAST`,
    ...key.map((column) => `t."${column}" ${direction}`),
  ].join(", ");
};

/** True where the key is one column: its index finds the rows of a page, once their keys are known. */
export const hasSingleKey = (table: TableName): boolean => tableSpec(table).key.length === 1;

/**
 * One row: `total` (rows that match) and `keys` (those of the page, in its order, as text). Reads no wide column. For
 * tables with a single key; the page's records follow by `pageStatement`.
 */
export const keysStatement = (request: ListRequest): Statement => {
  const { table, conditions, binds, limit, offset, sortBy } = request;
  const key = quoted(tableSpec(table).key[0] ?? "id");
  const source = `main."${table}" AS t`;
  const filter = where(conditions);
  const order = orderBy(request);
  const columns = [...new Set([key, columnOf(sortBy)])].map((column) => `t.${column}`).join(", ");
  // Cut first, then listed in the same order: a place counted beside the cut would have every row sorted.
  const page = (from: string) =>
    `(SELECT list(CAST(t.${key} AS VARCHAR) ORDER BY ${order})
      FROM (SELECT ${columns} FROM ${from} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset}) AS t)`;
  // Without a filter the count is known and the order is cut as it is read; with one, the rows are looked for once.
  const sql =
    filter === ""
      ? `SELECT (SELECT count(*) FROM ${source}) AS total, coalesce(${page(source)}, []) AS keys`
      : `WITH found AS MATERIALIZED (SELECT ${columns} FROM ${source} ${filter})
SELECT (SELECT count(*) FROM found) AS total, coalesce(${page("found AS t")}, []) AS keys`;
  return { sql, values: binds.values };
};

/** A key as an SQL literal: only literals reach the key's index, bound values do not. */
const keyLiteral = (key: string, numeric: boolean): string => {
  if (numeric) return `${BigInt(key)}::BIGINT`;
  return key
    .split("\0")
    .map((part) => `'${part.replaceAll("'", "''")}'`)
    .join(" || chr(0) || ");
};

/** The records with these keys, in no order: `key`, `object` (JSON text), `links` (one text per link column). */
export const pageStatement = (request: ListRequest, keys: readonly string[]): Statement => {
  const { table, fields, extra, links } = request;
  const column = tableSpec(table).key[0] ?? "id";
  const numeric = tableSpec(table).fields.some((field) => field.column === column && field.columnType === "BIGINT");
  const linked = links.map((link) => `CAST(t."${link}" AS VARCHAR)`).join(", ");
  return {
    sql: `SELECT CAST(t.${quoted(column)} AS VARCHAR) AS key, ${rowJson(fields, { alias: "t", extra })} AS object,
  [${linked}]::VARCHAR[] AS links
FROM main."${table}" AS t WHERE t.${quoted(column)} IN (${keys.map((key) => keyLiteral(key, numeric)).join(", ")})`,
    values: [],
  };
};

/**
 * For tables whose key is more than one column. One row: `total` (rows that match), `rows` (the page as the inside of a
 * JSON array), `links` (one JSON array of distinct values per link column). The page is cut on row ids before any wide
 * column is read.
 */
export const listStatement = (request: ListRequest): Statement => {
  const { table, fields, extra, conditions, binds, limit, offset, links } = request;
  const source = `main."${table}" AS t`;
  const order = orderBy(request);
  const filter = where(conditions);
  const linkLists = links.map((column) => `CAST(to_json(list(DISTINCT page."${column}")) AS VARCHAR)`);
  const sql = `
WITH page AS (
  SELECT row_number() OVER (ORDER BY ${order}) AS place, ${rowJson(fields, { alias: "t", extra })} AS object
    ${links.map((column) => `, t."${column}"`).join("")}
  FROM ${source}
  WHERE t.rowid IN (SELECT t.rowid FROM ${source} ${filter} ORDER BY ${order} LIMIT ${limit} OFFSET ${offset})
)
SELECT (SELECT count(*) FROM ${source} ${filter}) AS total,
  coalesce((SELECT string_agg(object, ',' ORDER BY place) FROM page), '') AS rows,
  [${linkLists.map((list) => `(SELECT ${list} FROM page)`).join(", ")}]::VARCHAR[] AS links`;
  return { sql, values: binds.values };
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
