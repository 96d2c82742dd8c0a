// Statements that read a whole list in its order: keys only, for list-orders.ts. PURE.
import type { FieldSpec } from "../../catalog/fields.ts";
import { type TableName, tableSpec } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";
import { orderBy } from "./list-query.ts";

/** Order of the lists of one table: the whole one, or those of each value of a column. */
export interface ListOrder {
  readonly table: TableName;
  readonly sortBy: FieldSpec;
  readonly sortOrder: "asc" | "desc";
  /** BIGINT column with one list per value; null: one list of all rows. */
  readonly per: string | null;
}

const isBigint = (table: TableName, column: string): boolean =>
  tableSpec(table).fields.some((field) => field.column === column && field.columnType === "BIGINT");

/** Whether the keys of a table are whole numbers, each of one column. */
export const hasNumberKey = (table: TableName): boolean => {
  const { key } = tableSpec(table);
  return key.length === 1 && isBigint(table, key[0] ?? "");
};

/** One row per list, in the order of `keysInOrder`: the value of its column as text, and its number of rows. */
export const listSizes = ({ table, per }: ListOrder): string => {
  if (per === null) return `SELECT '', count(*) FROM main.${quoted(table)}`;
  const column = quoted(per);
  return `SELECT CAST(${column} AS VARCHAR), count(*) FROM main.${quoted(table)}
WHERE ${column} IS NOT NULL GROUP BY ${column} ORDER BY ${column}`;
};

/** One column: the keys of one list after the other, each in its order. With `places` another one: where each row lies. */
export const keysInOrder = (order: ListOrder, places: boolean): string => {
  const { table, per } = order;
  const key = `t.${quoted(tableSpec(table).key[0] ?? "")}`;
  const from = `SELECT ${key}${places ? ", t.rowid" : ""} FROM main.${quoted(table)} AS t`;
  return per === null
    ? `${from} ORDER BY ${orderBy(order)}`
    : `${from} WHERE t.${quoted(per)} IS NOT NULL ORDER BY t.${quoted(per)}, ${orderBy(order)}`;
};
