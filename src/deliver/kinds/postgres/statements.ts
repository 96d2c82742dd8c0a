// SQL of a delivery to Postgres: creates schema, tables and staging tables, and merges staged rows into a table. Pure; names come from the
// catalog and the configuration, and are quoted.
import { quoted } from "../../../core/text/sql-text.ts";
import { streamQuery } from "../../../warehouse/read/query.ts";
import type { DeliveredTable, Position } from "../../destination.ts";
import { hasNulSql, isLeftOutSql, isLongSql } from "../../left-out.ts";
import { changedKeysSql } from "../../position-mark.ts";
import type { Session } from "./session.ts";

// Converts columns of the mirror to Postgres: their types, and the SQL with which DuckDB writes their cells as COPY
// text. Pure.

export interface Column {
  readonly name: string;
  /** DuckDB's name. */
  readonly type: string;
}

/**
 * DuckDB's type → Postgres's. `json` and not `jsonb`, which rounds no number but refuses some escapes
 * (docs/decisions/destinations.md).
 */
const TYPES: Readonly<Record<string, string>> = {
  VARCHAR: "text",
  "VARCHAR[]": "text[]",
  JSON: "json",
  BIGINT: "bigint",
  HUGEINT: "numeric",
  INTEGER: "integer",
  DOUBLE: "double precision",
  BOOLEAN: "boolean",
  DATE: "date",
  "TIMESTAMP WITH TIME ZONE": "timestamptz",
};

/** Type of the column in Postgres; text for one that this version does not know. */
export const postgresType = (type: string): string => TYPES[type] ?? "text";

/** No text of Postgres holds U+0000: the sign for an unknown character is in its place. */
const withoutNul = (text: string): string => `replace(${text}, chr(0), chr(65533))`;

/** Signs with a meaning in COPY text. */
const escaped = (text: string): string =>
  [
    ["chr(92)", "chr(92) || chr(92)"],
    ["chr(9)", "chr(92) || 't'"],
    ["chr(10)", "chr(92) || 'n'"],
    ["chr(13)", "chr(92) || 'r'"],
  ].reduce((sql, [sign, written]) => `replace(${sql}, ${sign}, ${written})`, text);

const arrayText = (list: string): string => {
  const item = `'"' || replace(replace(x, chr(92), chr(92) || chr(92)), '"', chr(92) || '"') || '"'`;
  return `'{' || array_to_string(list_transform(${list}, lambda x: coalesce(${item}, 'NULL')), ',') || '}'`;
};

/** Postgres knows no time before 4713 BC, and writes years before Christ another way. */
const timeText = (time: string): string => {
  const text = `CAST(${time} AS VARCHAR)`;
  const past = `TIMESTAMPTZ '4713-01-01 (BC) 00:00:00+00'`;
  return `CASE WHEN ${time} < ${past} THEN '-infinity'
    WHEN contains(${text}, ' (BC)') THEN replace(${text}, ' (BC)', '') || ' BC' ELSE ${text} END`;
};

const PLAIN = ["BIGINT", "HUGEINT", "INTEGER", "DOUBLE", "BOOLEAN"];

/** The cell as COPY text; NULL stays NULL. */
const cellSql = (cell: string, type: string): string => {
  if (PLAIN.includes(type)) return `CAST(${cell} AS VARCHAR)`;
  if (type === "TIMESTAMP WITH TIME ZONE") return timeText(cell);
  if (type === "VARCHAR[]") return escaped(withoutNul(arrayText(cell)));
  return escaped(withoutNul(`CAST(${cell} AS VARCHAR)`));
};

/** An expression for a line of COPY text. `cells`: SQL of each cell and its DuckDB type. */
export const lineSql = (cells: readonly { readonly sql: string; readonly type: string }[]): string =>
  cells.map(({ sql, type }) => `coalesce(${cellSql(sql, type)}, chr(92) || 'N')`).join(" || chr(9) || ");

/** The columns of the alias `t` as a line. */
export const rowLineSql = (columns: readonly Column[]): string =>
  lineSql(columns.map(({ name, type }) => ({ sql: `t.${quoted(name)}`, type })));

// Streams rows of the snapshot to Postgres as COPY text, which DuckDB writes; a few thousand rows are in memory at a time.

/** Name of the snapshot's database when it is opened by its path. */
const SNAPSHOT = "warehouse";
const MEMORY_LIMIT = "1GB";

/** Bytes of a key's texts. An index entry of Postgres holds 2,704, with its header, lengths and other cells of the key. */
export const LONGEST_KEY = 2_600;

/** Lines of every row that is not left out. */
export const wholeLinesSql = (table: DeliveredTable): string =>
  `SELECT ${rowLineSql(table.columns)} FROM main.${quoted(table.name)} AS t WHERE NOT ${isLeftOutSql(table, "t", LONGEST_KEY)}`;

/** Lines of every row for a staging table. */
export const stagedLinesSql = (table: DeliveredTable): string =>
  `SELECT ${rowLineSql(table.columns)} || chr(9) || 'f' FROM main.${quoted(table.name)} AS t
   WHERE NOT ${isLeftOutSql(table, "t", LONGEST_KEY)}`;

/**
 * Lines of the rows whose keys changed; of a row that is gone, its key. A key with U+0000 has no line: as Postgres would
 * store it, it may be another row's.
 */
export const changedLinesSql = (table: DeliveredTable, from: Position): string => {
  const { name, key, columns } = table;
  const cells = columns.map(({ name: column, type }) => {
    const side = key.includes(column) ? "k" : "t";
    return { sql: `${side}.${quoted(column)}`, type };
  });
  const join = key.map((column) => `t.${quoted(column)} = k.${quoted(column)}`).join(" AND ");
  const isGone = `CASE WHEN t.${quoted(key[0] ?? "")} IS NULL OR ${isLongSql(table, "k", LONGEST_KEY)} THEN 't' ELSE 'f' END`;
  return `SELECT ${lineSql(cells)} || chr(9) || ${isGone}
    FROM (${changedKeysSql(table, from, SNAPSHOT)}) AS k LEFT JOIN main.${quoted(name)} AS t ON ${join}
    WHERE NOT (${hasNulSql(table, "k")})`;
};

/** Sends the lines of a query to a COPY statement. Returns the number of bytes. */
export const copyLines = async (
  session: Session,
  statement: string,
  query: { readonly snapshot: string; readonly sql: string; readonly signal: AbortSignal },
): Promise<number> =>
  streamQuery({ ...query, memoryLimit: MEMORY_LIMIT }, async ({ batches }) => {
    let bytes = 0;
    async function* chunks() {
      for await (const rows of batches) {
        const chunk = Buffer.from(rows.map(([line]) => `${String(line)}\n`).join(""), "utf8");
        bytes += chunk.length;
        yield chunk;
      }
    }
    await session.copy(statement, chunks(), query.signal);
    return bytes;
  });

/** Table with the position. */
export const POSITION_TABLE = "duckmirror_position";
/** Column of a staging table: the row with this key is gone. */
const GONE = "duckmirror_gone";

type Shape = Pick<DeliveredTable, "name" | "key" | "columns">;

const names = (columns: readonly { readonly name: string }[]): string =>
  columns.map(({ name }) => quoted(name)).join(", ");

/** Standard strings, as `standard_conforming_strings` is on. */
const text = (value: string): string => `'${value.replaceAll("'", "''")}'`;

export const pathOf = (schema: string, table: string): string => `${quoted(schema)}.${quoted(table)}`;

export const createPositionSql = (schema: string): string =>
  `CREATE TABLE ${pathOf(schema, POSITION_TABLE)} (
    single boolean PRIMARY KEY DEFAULT true CHECK (single), mirror text NOT NULL, n bigint NOT NULL, mark text NOT NULL,
    run_id text, tables text[] NOT NULL, delivered_at timestamptz NOT NULL
  );
  COMMENT ON TABLE ${pathOf(schema, POSITION_TABLE)} IS 'How far duckmirror has delivered; written with the rows.'`;

export const writePositionSql = (schema: string): string =>
  `INSERT INTO ${pathOf(schema, POSITION_TABLE)} (mirror, n, mark, run_id, tables, delivered_at)
   VALUES ($1, $2, $3, $4, $5, now())
   ON CONFLICT (single) DO UPDATE SET mirror = excluded.mirror, n = excluded.n, mark = excluded.mark,
     run_id = excluded.run_id, tables = excluded.tables, delivered_at = excluded.delivered_at`;

/** A table without its key, which follows when its rows are in. */
export const createTableSql = (schema: string, { name, columns }: Shape): string =>
  `CREATE TABLE ${pathOf(schema, name)} (${columns.map((one) => `${quoted(one.name)} ${postgresType(one.type)}`).join(", ")})`;

export const addKeySql = (schema: string, { name, key }: Shape): string =>
  `ALTER TABLE ${pathOf(schema, name)} ADD PRIMARY KEY (${key.map(quoted).join(", ")})`;

export const addColumnsSql = (schema: string, name: string, columns: Shape["columns"]): string =>
  `ALTER TABLE ${pathOf(schema, name)} ${columns
    .map((one) => `ADD COLUMN IF NOT EXISTS ${quoted(one.name)} ${postgresType(one.type)}`)
    .join(", ")}`;

/** `comments`: of the table (null) and of its columns. */
export const commentsSql = (
  schema: string,
  name: string,
  comments: readonly { readonly column: string | null; readonly comment: string }[],
): string =>
  comments
    .map(({ column, comment }) => {
      const what =
        column === null ? `TABLE ${pathOf(schema, name)}` : `COLUMN ${pathOf(schema, name)}.${quoted(column)}`;
      return `COMMENT ON ${what} IS ${text(comment)}`;
    })
    .join("; ");

/** Rows go straight into a new table. */
export const copyIntoSql = (path: string, columns: Shape["columns"], more: readonly string[] = []): string =>
  `COPY ${path} (${[names(columns), ...more].join(", ")}) FROM STDIN`;

/** A staging table of the transaction. */
export const stageOf = (name: string): string => quoted(`staged_${name}`);

export const createStageSql = ({ name, columns }: Shape): string =>
  `CREATE TEMP TABLE ${stageOf(name)} (${columns
    .map((one) => `${quoted(one.name)} ${postgresType(one.type)}`)
    .join(", ")}, ${GONE} boolean NOT NULL) ON COMMIT DROP`;

export const copyIntoStageSql = ({ name, columns }: Shape): string => copyIntoSql(stageOf(name), columns, [GONE]);

const sameKey = ({ key }: Shape): string =>
  key.map((column) => `t.${quoted(column)} = s.${quoted(column)}`).join(" AND ");

/** Deletes the rows that are gone; of a whole table, those that were not staged. */
export const deleteSql = (schema: string, table: Shape, whole: boolean): string => {
  const path = pathOf(schema, table.name);
  const stage = stageOf(table.name);
  if (whole) return `DELETE FROM ${path} AS t WHERE NOT EXISTS (SELECT FROM ${stage} AS s WHERE ${sameKey(table)})`;
  return `DELETE FROM ${path} AS t USING ${stage} AS s WHERE s.${GONE} AND ${sameKey(table)}`;
};

/** Writes the staged rows; those that are the same already are left alone. json has no equality, its text has. */
export const upsertSql = (schema: string, table: Shape): string => {
  const { name, key, columns } = table;
  const comparable = (alias: string, { name: column, type }: Shape["columns"][number]) =>
    `${alias}.${quoted(column)}${postgresType(type) === "json" ? "::text" : ""}`;
  const others = columns.filter((one) => !key.includes(one.name));
  const sets = others.map((one) => `${quoted(one.name)} = excluded.${quoted(one.name)}`);
  const isOther = others.map((one) => `${comparable("t", one)} IS DISTINCT FROM ${comparable("excluded", one)}`);
  return `INSERT INTO ${pathOf(schema, name)} AS t (${names(columns)})
    SELECT ${names(columns)} FROM ${stageOf(name)} WHERE NOT ${GONE}
    ON CONFLICT (${key.map(quoted).join(", ")}) DO UPDATE SET ${sets.join(", ")} WHERE ${isOther.join(" OR ")}`;
};
