// Reads the changes of one table with key and values, from main and history of the snapshot. A first statement reads key
// columns only, and finds where each version is: in history under the number of the change that ended it, or in main under its
// row id. So the next statements read only the rows that a page needs.
import { parse } from "lossless-json";
import { z } from "zod";
import type { ColumnType } from "../../../catalog/fields.ts";
import { isUsageTable, type TableName, tableSpec } from "../../../catalog/tables.ts";
import { DuckmirrorError } from "../../../core/errors.ts";
import { isForgottenId } from "../../../core/forgotten.ts";
import { exactNumber, isJsonObject, type JsonObject, type JsonValue, jsonText } from "../../../core/json.ts";
import { literal, quoted } from "../../../core/text/sql-text.ts";
import { rangesOf } from "../../duckdb/row-ranges.ts";
import { bigintCell, isoOfMicros, type ReadSql } from "../../duckdb/statements.ts";
import { isSameJson } from "../../record/json-text.ts";
import type { Change } from "./change.ts";

// Generates the statements that read the versions behind changes, from the catalog. Pure; every value is bound.

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

interface VersionsSql {
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

/** The part of a change that the feed stores. */
export type ChangeHead = Pick<Change, "n" | "at" | "run_id" | "change">;

const placesRow = z.object({
  n: z.number(),
  key: z.string(),
  later: bigintCell.nullable(),
  current: bigintCell.nullable(),
});
const recordRow = z.object({ place: bigintCell, record: z.string() });

/** Digits or an exponent of a number that a double may not hold. */
const MAY_BE_EXACT = /[\d.]{16}|\d[eE][+-]?\d/;

const isParsed = (value: unknown): value is JsonValue => value !== undefined;

const parsed = (text: string): JsonValue => {
  const value: unknown = MAY_BE_EXACT.test(text) ? parse(text, null, exactNumber) : JSON.parse(text);
  return isParsed(value) ? value : null;
};

/** A value of a record as `versionsSql` writes it: a time in microseconds as ISO text, the text of a JSON column parsed. */
const readValue = (columnType: ColumnType, value: JsonValue): JsonValue => {
  const isMicros = typeof value === "number" || typeof value === "bigint";
  if (columnType === "TIMESTAMPTZ") return isMicros ? isoOfMicros(BigInt(value)) : value;
  return columnType === "JSON" && typeof value === "string" ? parsed(value) : value;
};

/** The record of a text that `versionsSql` wrote. */
export const recordOf = (table: TableName, text: string): JsonObject => {
  const record = parsed(text);
  if (!isJsonObject(record)) throw new TypeError("a record is no object");
  const types = new Map(tableSpec(table).fields.map(({ column, columnType }) => [column, columnType]));
  return Object.fromEntries(
    Object.entries(record).map(([column, value]) => [column, readValue(types.get(column) ?? "JSON", value)]),
  );
};

const differs = (a: JsonValue, b: JsonValue): boolean =>
  a !== b && (typeof a !== "object" || typeof b !== "object" || !isSameJson(jsonText(a).text, jsonText(b).text));

const fieldsOf = (before: JsonObject, after: JsonObject): readonly string[] =>
  Object.keys(after).filter((column) => differs(before[column] ?? null, after[column] ?? null));

type Of = Pick<Change, "n" | "table" | "key">;

/** The version at a place; null: an erased contact, or a usage reading that retention removed. Throws UNEXPECTED for others. */
const versionAt = (versions: ReadonlyMap<bigint, JsonObject>, place: bigint | null, { n, table, key }: Of) => {
  const version = place === null ? undefined : versions.get(place);
  if (version !== undefined) return version;
  if (isUsageTable(table) || (typeof key.id === "string" && isForgottenId(key.id))) return null;
  throw new DuckmirrorError("UNEXPECTED", { detail: `the version behind change ${n} is missing` });
};

type Found = z.output<typeof recordRow>;

const versionsOf = (table: TableName, rows: readonly Found[]) => ({
  records: new Map(rows.map(({ place, record }) => [place, recordOf(table, record)])),
  characters: rows.reduce((sum, { record }) => sum + record.length, 0),
});

type Places = z.output<typeof placesRow>;

const readEnded = async (sql: ReadSql, table: TableName, numbers: readonly bigint[]) => {
  const rows = numbers.length === 0 ? [] : await sql.query(versionsSql(table).ended, [numbers.map(String)], recordRow);
  return versionsOf(table, rows);
};

const readPresent = async (sql: ReadSql, table: TableName, rowIds: readonly bigint[]) => {
  const sorted = [...new Set(rowIds)].sort((a, b) => (a < b ? -1 : 1));
  const found: Found[] = [];
  for (const { from, to } of rangesOf(sorted)) {
    const within = sorted.filter((row) => row >= from && row <= to).map(String);
    found.push(...(await sql.query(versionsSql(table).present, [from, to, within], recordRow)));
  }
  return versionsOf(table, found);
};

export interface ReadVersions {
  readonly changes: readonly Change[];
  /** Length of the records that were read. */
  readonly characters: number;
}

export const readVersions = async (
  sql: ReadSql,
  table: TableName,
  heads: readonly ChangeHead[],
): Promise<ReadVersions> => {
  const numbers = heads.map(({ n }) => n);
  const bounds = [Math.min(...numbers), Math.max(...numbers), numbers.map(String)];
  const places = new Map<number, Places>();
  for (const row of await sql.query(versionsSql(table).places, bounds, placesRow)) places.set(row.n, row);
  const all = [...places.values()];
  const ended = await readEnded(sql, table, [
    ...heads.flatMap(({ n, change }) => (change === "insert" ? [] : [BigInt(n)])),
    ...all.flatMap(({ later }) => (later === null ? [] : [later])),
  ]);
  const written = new Set(heads.flatMap(({ n, change }) => (change === "delete" ? [] : [n])));
  const present = await readPresent(
    sql,
    table,
    all.flatMap(({ n, later, current }) => (later === null && current !== null && written.has(n) ? [current] : [])),
  );
  const changes = heads.map(({ n, at, run_id, change }): Change => {
    const place = places.get(n);
    if (place === undefined) throw new DuckmirrorError("UNEXPECTED", { detail: `change ${n} is missing` });
    const key = recordOf(table, place.key);
    const of = { n, table, key };
    const before = change === "insert" ? null : versionAt(ended.records, BigInt(n), of);
    const last = () => versionAt(present.records, place.current, of);
    const after =
      change === "delete" ? null : place.later === null ? last() : versionAt(ended.records, place.later, of);
    const fields = before === null || after === null ? [] : fieldsOf(before, after);
    return { n, at, run_id, table, key, change, fields, before, after };
  });
  return { changes, characters: ended.characters + present.characters };
};
