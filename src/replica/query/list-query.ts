// Statements of list and detail routes. PURE: returns SQL text and bound values, executes nothing.
// SQL is built from the catalog, because fields, sort and filters vary with every request.
import type { FieldSpec } from "../../catalog/fields.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { literal, quoted } from "../../core/text/sql-text.ts";
import type { OutValue } from "../../warehouse/duckdb/out-values.ts";
import { columnOf, recordWriter } from "../../warehouse/read/record-text.ts";
import { Binds } from "./filters.ts";

// Groups the rows of a page that lie near each other in the table. DuckDB reads them together in a third to an eighth of
// the time that it takes for the same rows one by one through the key's index. PURE.

/** Rows of a page, in two parts. */
interface NearRows {
  /** Keys of the rows whose places are in `from` to `to`; null: too few lie near each other. */
  readonly near: { readonly keys: readonly string[]; readonly from: number; readonly to: number } | null;
  /** All other keys. */
  readonly others: readonly string[];
}

/** Rows that may be passed over for each that is read. */
const MOST_ROWS_PER_KEY = 20;
/** Fewer rows are read faster one by one. */
const LEAST_NEAR = 20;

/** Splits the keys of a page by the places of their rows. Both lists are of the same order and length. */
export const nearRows = (keys: readonly string[], places: readonly number[]): NearRows => {
  const rows = keys.map((key, index) => ({ key, place: places[index] ?? 0 })).sort((a, b) => a.place - b.place);
  const span = rows.length * MOST_ROWS_PER_KEY;
  // The window of places with the most rows: `end` only moves forward.
  let best = { start: 0, rows: 0 };
  let end = 0;
  for (const [start, { place }] of rows.entries()) {
    while ((rows[end]?.place ?? Number.POSITIVE_INFINITY) < place + span) end += 1;
    if (end - start > best.rows) best = { start, rows: end - start };
  }
  if (best.rows < LEAST_NEAR) return { near: null, others: keys };
  const inside = rows.slice(best.start, best.start + best.rows);
  const outside = [...rows.slice(0, best.start), ...rows.slice(best.start + best.rows)];
  return {
    near: {
      keys: inside.map(({ key }) => key),
      from: inside[0]?.place ?? 0,
      to: inside.at(-1)?.place ?? 0,
    },
    others: outside.map(({ key }) => key),
  };
};

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
export const orderBy = ({ table, sortBy, sortOrder }: Pick<ListRequest, "table" | "sortBy" | "sortOrder">): string => {
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

/** Reads records as cells: the key as text first, then the fields, `_extra` or NULL, and the link columns as text. */
export interface RecordsStatement extends Statement {
  /** A row of the statement as a record. */
  readonly recordOf: (cells: readonly OutValue[]) => RecordText;
}

/** A record as JSON text, with its key and the values of its link columns. */
export interface RecordText {
  readonly key: string;
  readonly object: string;
  readonly links: readonly (string | null)[];
}

/** Which columns of a table are read. */
export interface RecordColumns {
  readonly table: TableName;
  readonly fields: readonly FieldSpec[];
  /** Append the content of `_extra`. */
  readonly extra: boolean;
  /** Columns whose values come along, to find related records. */
  readonly links?: readonly string[];
}

/** Plain columns: planning a JSON expression of 34 of them took longer than reading a record. */
const selected = ({ table, fields, extra, links = [] }: RecordColumns) => {
  const columns = [
    `CAST(t.${quoted(ownKey(table))} AS VARCHAR)`,
    ...fields.map((field) => columnOf(field, "t")),
    extra ? "t._extra" : "NULL",
    ...links.map((link) => `CAST(t.${quoted(link)} AS VARCHAR)`),
  ];
  const write = recordWriter(fields);
  const extraAt = fields.length + 1;
  return {
    head: `SELECT ${columns.join(", ")} FROM main.${quoted(table)} AS t`,
    recordOf: (cells: readonly OutValue[]): RecordText => ({
      key: String(cells[0]),
      object: write(cells.slice(1, extraAt), cells[extraAt]),
      links: cells.slice(extraAt + 1).map((link) => (typeof link === "string" ? link : null)),
    }),
  };
};

const isNumericKey = (table: TableName): boolean =>
  tableSpec(table).fields.some((field) => field.column === ownKey(table) && field.columnType === "BIGINT");

/** Letters, digits and a few signs: such a key cannot end a literal. */
const isPlain = (key: string): boolean => /^[\w.:-]+$/.test(key);

/** Condition: the record has one of these keys. As literals, so that the key's index is used; unusual texts are bound. */
const hasKey = (table: TableName, keys: readonly string[], binds: Binds): string => {
  const numeric = isNumericKey(table);
  const written = (key: string) => (isPlain(key) ? literal(key) : binds.bind(key));
  const values = keys.map((key) => (numeric ? literal(BigInt(key)) : written(key))).join(", ");
  return `t.${quoted(ownKey(table))} IN (${values})`;
};

/** Condition: one of these numeric keys, whose rows are all in the places `from` to `to`. Not by the key's index. */
const isNear = (table: TableName, { keys, from, to }: NonNullable<NearRows["near"]>): string => {
  const numbers = keys.map(BigInt).sort((a, b) => (a < b ? -1 : 1));
  const [least = 0n, most = 0n] = [numbers[0], numbers.at(-1)];
  const key = `t.${quoted(ownKey(table))}`;
  const range = `${key} BETWEEN ${literal(least)} AND ${literal(most)}`;
  if (most - least === BigInt(numbers.length - 1)) return range;
  const list = numbers.map(literal).join(", ");
  return `${range} AND t.rowid BETWEEN ${from} AND ${to} AND list_contains([${list}]::BIGINT[], ${key})`;
};

/** The same, of rows of which some lie near each other. Only for tables with a numeric key. */
export const placedStatement = (request: RecordColumns, { near, others }: NearRows): RecordsStatement => {
  const { table } = request;
  const conditions = [
    ...(near === null ? [] : [isNear(table, near)]),
    ...(others.length === 0 ? [] : [hasKey(table, others, new Binds())]),
  ];
  const { head, recordOf } = selected(request);
  return {
    sql: conditions.map((condition) => `${head} WHERE ${condition}`).join("\nUNION ALL "),
    values: [],
    recordOf,
  };
};

/** Whether one column identifies a record, by the key's index. */
export const hasKeyOfOneColumn = (table: TableName): boolean => tableSpec(table).key.length === 1;

/** Records with these keys, in any order. Only for tables whose key is one column. */
export const recordsByKey = (request: RecordColumns, keys: readonly string[]): RecordsStatement => {
  const binds = new Binds();
  const { head, recordOf } = selected(request);
  return { sql: `${head} ${where([hasKey(request.table, keys, binds)])}`, values: binds.values, recordOf };
};

/** Records with these keys among those that meet the conditions, which hold the other column of the key. */
export const pageStatement = (request: ListRequest, keys: readonly string[]): RecordsStatement => {
  const { table, conditions, binds } = request;
  const { head, recordOf } = selected(request);
  return { sql: `${head} ${where([...conditions, hasKey(table, keys, binds)])}`, values: binds.values, recordOf };
};

/** One row: for each column, whether any row of the table has a value in it. Ends at the first one found. */
export const filledStatement = (table: TableName, columns: readonly string[]): string => {
  const from = `FROM main.${quoted(table)} AS t`;
  return `SELECT ${columns.map((column) => `EXISTS (SELECT 1 ${from} WHERE t.${quoted(column)} IS NOT NULL)`).join(", ")}`;
};

/** Records of a table by a condition on alias `t`. */
export const recordsStatement = (
  request: RecordColumns & {
    readonly conditions: readonly string[];
    readonly binds: Binds;
    readonly order?: string;
    readonly limit?: number;
  },
): RecordsStatement => {
  const { table, conditions, binds, order, limit } = request;
  const { head, recordOf } = selected(request);
  return {
    sql: `${head} ${where(conditions)}
ORDER BY ${order ?? `t.${quoted(ownKey(table))}`} ${limit === undefined ? "" : `LIMIT ${limit}`}`,
    values: binds.values,
    recordOf,
  };
};
