// SQL of the keys that changed after a position. Every kind of destination attaches the snapshot and joins with it. Pure.
import { quoted } from "../core/text/sql-text.ts";
import type { DeliveredTable, Position } from "./destination.ts";

/**
 * A query for the distinct keys of a table's rows that were inserted, updated or deleted after `from`, in the key's
 * columns and types. `catalog`: name under which the snapshot is attached. Only for tables of extent `changes`.
 */
export const changedKeysSql = (
  { name, key, columns }: Pick<DeliveredTable, "name" | "key" | "columns">,
  { n }: Pick<Position, "n">,
  catalog: string,
): string => {
  const typeOf = (column: string) => columns.find((one) => one.name === column)?.type ?? "VARCHAR";
  // DuckDB may cast the keys of other tables before it joins, and those need not fit.
  const cells = key.map((column, index) => `TRY_CAST(c.key_${index + 1} AS ${typeOf(column)}) AS ${quoted(column)}`);
  const feed = `${quoted(catalog)}.sync`;
  return `SELECT DISTINCT ${cells.join(", ")}
    FROM (SELECT first_n, last_n FROM ${feed}.change_batches WHERE table_name = '${name}' AND last_n > ${n}) AS b
    JOIN (FROM ${feed}.changes WHERE n > ${n}) AS c ON c.n BETWEEN b.first_n AND b.last_n`;
};
