// Converts columns of the mirror to Postgres: their types, and the SQL with which DuckDB writes their cells as COPY
// text. Pure.
import { quoted } from "../../../core/text/sql-text.ts";

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
