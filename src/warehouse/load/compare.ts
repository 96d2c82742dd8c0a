// Reads of the mirror for verify: compares received records with its rows, field by field, by the rules of loading; draws samples of ids, and
// counts rows by value. Changes nothing. SQL is generated because tables and fields vary; every value is bound.

import { z } from "zod";
import { type TableName, type TableSpec, tableSpec } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";
import type { Database } from "../duckdb/database.ts";
import { textsOf } from "../duckdb/sql-files.ts";
import type { Sql, SqlValue } from "../duckdb/statements.ts";
import type { TableLoad } from "../record/checkpoint.ts";
import { isSameJson } from "../record/json-text.ts";
import type { TableStrictness } from "../record/normalize-record.ts";
import { type BatchRow, collectBatch } from "./collect-batch.ts";
import { keyJoin, stageBatch } from "./load-batch.ts";

/** A value that differs, as text. */
export interface FieldDifference {
  /** The record's id; the last column of its key. */
  readonly id: string;
  /** API name of the field; `_extra` for unknown fields. */
  readonly field: string;
  readonly mirror: string | null;
  readonly api: string | null;
}

export interface Comparison {
  readonly ids: readonly string[];
  readonly fields: readonly FieldDifference[];
  readonly absent: readonly string[];
}

const differingRow = z.object({
  row: z.number(),
  field: z.string(),
  mirror: z.string().nullable(),
  api: z.string().nullable(),
});
const stagedRow = z.object({ row: z.number() });

const idOfRow = (spec: TableSpec, rows: readonly BatchRow[], row: number): string => {
  const index = spec.fields.findIndex(({ column }) => column === spec.key.at(-1));
  return String(rows[row]?.row.cells[index] ?? "");
};

const isJson = (spec: TableSpec, name: string): boolean =>
  name === "_extra" || spec.fields.some((field) => field.name === name && field.columnType === "JSON");

/** Fields whose staged value differs from the stored one, one row each. One join: a UNION of forty takes 20 ms to plan. */
const differingSql = (spec: TableSpec): string => {
  const one = (column: string, name: string, kept: string) =>
    `CASE WHEN ${kept}s.${column} IS DISTINCT FROM o.${column} THEN struct_pack(field := '${name}', mirror := CAST(o.${column} AS VARCHAR), api := CAST(s.${column} AS VARCHAR)) END`;
  const fields = spec.fields.flatMap(({ name, column }, index) =>
    spec.key.includes(column) ? [] : [one(quoted(column), name, `s._kept & ${1n << BigInt(index)} = 0 AND `)],
  );
  const all = [...fields, one("_extra", "_extra", "")];
  return `SELECT row, one.field AS field, one.mirror AS mirror, one.api AS api FROM (
    SELECT s._row AS row, unnest([${all.join(", ")}]) AS one FROM stage AS s JOIN old AS o ON ${keyJoin(spec, "s", "o")}
  ) WHERE one IS NOT NULL`;
};

/** Compares the records of one load with the mirror. Leaves out records that cannot become a row. */
export const compareLoad = (database: Database, load: TableLoad, strictness: TableStrictness): Promise<Comparison> =>
  database.transaction(
    async (tx) => {
      const spec = tableSpec(load.table);
      const batch = collectBatch(load.table, [{ load, index: 0 }], strictness(load.table));
      const { rows } = batch;
      const ids = rows.map((_, row) => idOfRow(spec, rows, row));
      if (rows.length === 0) return { ids, fields: [], absent: [] };
      if ((await stageBatch(tx, batch)) === null) return { ids, fields: [], absent: ids };
      const differing = await tx.query(`${differingSql(spec)} ORDER BY row, field`, [], differingRow);
      const absent = await tx.query(
        `SELECT s._row AS row FROM stage AS s ANTI JOIN old AS o ON ${keyJoin(spec, "s", "o")} ORDER BY row`,
        [],
        stagedRow,
      );
      return {
        ids,
        fields: differing
          // A different member order in an object is no change.
          .filter(({ field, mirror, api }) => !isJson(spec, field) || !isSameJson(mirror ?? "null", api ?? "null"))
          .map(({ row, ...difference }) => ({ id: idOfRow(spec, rows, row), ...difference })),
        absent: absent.map(({ row }) => idOfRow(spec, rows, row)),
      };
    },
    // Only temporary tables change.
    { isCommitted: async () => false },
  );

const idOf = (table: TableName) => `CAST(${quoted(tableSpec(table).key.at(-1) ?? "")} AS VARCHAR)`;

/**
 * Ids of mirrored rows that are not in `ids`: in a table, in one company's part of it, or among rows with a numeric
 * id in `between` (inclusive; null: no limit).
 */
export const mirroredBeside = async (
  sql: Sql,
  table: TableName,
  ids: readonly string[],
  among: { readonly company?: string; readonly between?: readonly [bigint | null, bigint | null] } = {},
): Promise<readonly string[]> => {
  const id = idOf(table);
  const key = quoted(tableSpec(table).key.at(-1) ?? "");
  const conditions = [`${id} NOT IN (SELECT unnest(?))`];
  const params: SqlValue[] = [[...ids]];
  if (among.company !== undefined) {
    conditions.push("company_id = ?");
    params.push(among.company);
  }
  const [low = null, high = null] = among.between ?? [];
  if (low !== null) {
    conditions.push(`${key} >= ?`);
    params.push(low);
  }
  if (high !== null) {
    conditions.push(`${key} <= ?`);
    params.push(high);
  }
  const query = `SELECT ${id} AS id FROM main.${quoted(table)} WHERE ${conditions.join(" AND ")} ORDER BY 1`;
  return textsOf(sql, query, params);
};

/** Up to `most` ids of a table, drawn with `seed`: the same seed and rows give the same ids. */
export const sampleIds = async (sql: Sql, table: TableName, seed: number, most: number): Promise<readonly string[]> => {
  const id = idOf(table);
  const query = `SELECT ${id} AS id FROM main.${quoted(table)} ORDER BY md5(concat(${id}, '/', ?)), id LIMIT ?`;
  return textsOf(sql, query, [seed, most]);
};

const groupRow = z.object({ value: z.string().nullable(), rows: z.number() });

/** Number of rows of a table by the value of one column; null: rows without one. */
export const countByValue = async (
  sql: Sql,
  table: TableName,
  column: string,
): Promise<ReadonlyMap<string | null, number>> => {
  const query = `SELECT CAST(${quoted(column)} AS VARCHAR) AS value, count(*) AS "rows" FROM main.${quoted(table)} GROUP BY ALL`;
  const groups = await sql.query(query, [], groupRow);
  return new Map(groups.map(({ value, rows }) => [value, rows]));
};
