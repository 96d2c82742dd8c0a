// Database access of the routes: the interface, and reads that several routes share.
import type { z } from "zod";
import type { FieldSpec } from "../catalog/fields.ts";
import { type TableName, tableSpec } from "../catalog/tables.ts";
import type { OutValue } from "../warehouse/duckdb/out-values.ts";
import type { Embedded } from "./envelope.ts";
import { defaultFields } from "./query/field-choice.ts";
import { Binds } from "./query/filters.ts";
import { type RecordsStatement, type RecordText, recordsStatement } from "./query/list-query.ts";

/** The part of a database that reading needs; src/warehouse/duckdb/database.ts implements it. */
export interface Reader {
  query<T>(sql: string, params: readonly string[], row: z.ZodType<T>): Promise<T[]>;
  /** Rows as arrays of plain values; times as ISO 8601 text. */
  cells(sql: string, params: readonly string[]): Promise<readonly (readonly OutValue[])[]>;
}

export const readStatement = async (
  reader: Reader,
  { sql, values, recordOf }: RecordsStatement,
): Promise<readonly RecordText[]> => (await reader.cells(sql, values)).map(recordOf);

export interface RecordsRequest {
  readonly table: TableName;
  /** Default: the fields of a detail response. */
  readonly fields?: readonly FieldSpec[];
  readonly extra?: boolean;
  /** SQL condition on alias `t`. */
  readonly where: (binds: Binds) => string;
  readonly order?: string;
  readonly limit?: number;
}

/** Records of a table as JSON texts with their keys. */
export const readRecords = (reader: Reader, request: RecordsRequest): Promise<readonly RecordText[]> => {
  const binds = new Binds();
  const { table, fields = defaultFields(table, true), extra = true, order, limit } = request;
  const statement = recordsStatement({
    table,
    fields,
    extra,
    conditions: [request.where(binds)],
    binds,
    ...(order === undefined ? {} : { order }),
    ...(limit === undefined ? {} : { limit }),
  });
  return readStatement(reader, statement);
};

/** Condition: the record has one of these ids. Compared in the column's own type, so that the key's index is used. */
export const idIn =
  (table: TableName, ids: readonly string[]) =>
  (binds: Binds): string => {
    const numeric = tableSpec(table).fields.find((field) => field.name === "id")?.columnType === "BIGINT";
    // Numbers are rewritten from integers; text of a request is always bound.
    const values = ids.map((id) => (numeric ? `${BigInt(id)}::BIGINT` : binds.bind(id)));
    return values.length === 1 ? `t.id = ${values[0]}` : `t.id IN (${values.join(", ")})`;
  };

/** Condition: the column, as text, is one of these values. Ids hold no comma (they are ids of this warehouse). */
export const amongTexts =
  (column: string, values: readonly string[]) =>
  (binds: Binds): string =>
    `list_contains(string_split(${binds.bind(values.join(","))}, ','), CAST(${column} AS VARCHAR))`;

/** An embedded record or list, named as `include` names it. */
export const embedded = (
  one: string,
  many: string,
  kind: Embedded["kind"],
  records: Embedded["records"],
): Embedded => ({ one, many, kind, records });
