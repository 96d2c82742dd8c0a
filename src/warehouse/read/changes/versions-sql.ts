// Generates the statements that read the versions behind changes, from the catalog. Pure; every value is bound.
import { type TableName, tableSpec } from "../../../catalog/tables.ts";
import { literal, quoted } from "../../../core/text/sql-text.ts";

/** Columns of the record: those of the catalog, and `_extra`. */
const recordColumns = (table: TableName) => [
  ...tableSpec(table).fields.map(({ column, columnType }) => ({ column, columnType })),
  { column: "_extra", columnType: "JSON" } as const,
];

/** A row as JSON text: times in microseconds since the epoch, JSON as text in text, because DuckDB would round its numbers. */
const recordJson = (table: TableName, alias: string): string => {
  const members = recordColumns(table).map(({ column, columnType }) => {
    const value = `${alias}.${quoted(column)}`;
    if (columnType === "TIMESTAMPTZ") return `${literal(column)}, epoch_us(${value})`;
    return `${literal(column)}, ${columnType === "JSON" ? `CAST(${value} AS VARCHAR)` : value}`;
  });
  return `CAST(json_object(${members.join(", ")}) AS VARCHAR)`;
};

const typeOf = (table: TableName, column: string): string =>
  tableSpec(table).fields.find((field) => field.column === column)?.columnType ?? "VARCHAR";

export interface VersionsSql {
  /**
   * Changes $1 to $2 (numbers) of this table with the places of their versions: `later`, the change that ended the
   * version that the change wrote; `current`, the row id if it is the present one.
   */
  readonly places: string;
  /** Versions that the changes in $1 (numbers as text) ended: number and record. */
  readonly ended: string;
  /** Present rows by row id, from $1 to $2, of those in $3 (row ids as text). */
  readonly present: string;
}

export const versionsSql = (table: TableName): VersionsSql => {
  const { key } = tableSpec(table);
  const casts = key.map((column, index) => `CAST(key_${index + 1} AS ${typeOf(table, column)}) AS ${quoted(column)}`);
  const join = (alias: string) => key.map((column) => `${alias}.${quoted(column)} = c.${quoted(column)}`).join(" AND ");
  const members = key.map((column) => {
    const value = `c.${quoted(column)}`;
    return `${literal(column)}, ${typeOf(table, column) === "TIMESTAMPTZ" ? `epoch_us(${value})` : value}`;
  });
  const main = `main.${quoted(table)}`;
  const history = `history.${quoted(table)}`;
  return {
    places: `WITH theirs AS (
      FROM sync.changes WHERE n BETWEEN $1 AND $2 AND n IN (SELECT CAST(unnest($3) AS BIGINT))
    ), c AS (SELECT n, ${casts.join(", ")} FROM theirs),
    ended AS (SELECT c.n, min(h.change_n) AS later FROM c JOIN ${history} AS h ON ${join("h")} AND h.change_n > c.n GROUP BY c.n)
    SELECT c.n, CAST(json_object(${members.join(", ")}) AS VARCHAR) AS key, ended.later, t.rowid AS current
    FROM c LEFT JOIN ended ON ended.n = c.n LEFT JOIN ${main} AS t ON ${join("t")}
    ORDER BY c.n`,
    ended: `SELECT h.change_n AS place, ${recordJson(table, "h")} AS record FROM ${history} AS h
      WHERE h.change_n IN (SELECT CAST(unnest($1) AS BIGINT))`,
    present: `SELECT t.rowid AS place, ${recordJson(table, "t")} AS record FROM ${main} AS t
      WHERE t.rowid BETWEEN $1 AND $2 AND t.rowid IN (SELECT CAST(unnest($3) AS BIGINT))`,
  };
};
