// Finds the rows that a kind of destination cannot hold, so that a delivery leaves them out, counted and named: rows whose key has U+0000
// (its texts drop or replace it, so that two keys could become one) or is too long for an index.
import { z } from "zod";
import { quoted } from "../core/text/sql-text.ts";
import { runQuery } from "../warehouse/read/query.ts";
import type { DeliveredTable, LeftOut } from "./destination.ts";

type Keyed = Pick<DeliveredTable, "name" | "key" | "columns">;

/** Keys that are named for each table, and characters shown of each. */
const NAMED = 3;
const SHOWN = 80;

const textsOf = ({ key, columns }: Keyed, alias: string): readonly string[] =>
  key
    .filter((name) => columns.some((column) => column.name === name && column.type === "VARCHAR"))
    .map((name) => `${alias}.${quoted(name)}`);

/** True for a key with U+0000. `alias` has the key's columns. PURE. */
export const hasNulSql = (table: Keyed, alias: string): string =>
  ["false", ...textsOf(table, alias).map((text) => `contains(${text}, chr(0))`)].join(" OR ");

/** True for a key whose texts have more than `longest` bytes. PURE. */
export const isLongSql = (table: Keyed, alias: string, longest: number): string =>
  `${["0", ...textsOf(table, alias).map((text) => `strlen(${text})`)].join(" + ")} > ${longest}`;

/** True for a row that is left out. `longest` null: the kind takes keys of any length. PURE. */
export const isLeftOutSql = (table: Keyed, alias: string, longest: number | null): string =>
  `(${hasNulSql(table, alias)}${longest === null ? "" : ` OR ${isLongSql(table, alias, longest)}`})`;

const countSql = (table: Keyed, longest: number | null): string => {
  const cells = table.key.map((name) => `CAST(t.${quoted(name)} AS VARCHAR)`).join(", ");
  return `SELECT '${table.name}' AS name, count(*) AS n, to_json(list(shown ORDER BY shown)[:${NAMED}])::VARCHAR AS shown FROM (
    SELECT left(replace(concat_ws('/', ${cells}), chr(0), chr(65533)), ${SHOWN}) AS shown
    FROM main.${quoted(table.name)} AS t WHERE ${isLeftOutSql(table, "t", longest)})`;
};

const countRow = z.tuple([z.string(), z.coerce.number(), z.string().nullable()]);
const shownKeys = z.array(z.string());

/** The rows of these tables that are left out; only tables that have some. */
export const readLeftOut = async (
  snapshot: string,
  tables: readonly Keyed[],
  longest: number | null,
  signal: AbortSignal,
): Promise<readonly LeftOut[]> => {
  const checked = tables.filter((table) => textsOf(table, "t").length > 0);
  if (checked.length === 0) return [];
  const sql = checked.map((table) => countSql(table, longest)).join(" UNION ALL ");
  const { rows } = await runQuery({ snapshot, sql, signal });
  return rows.flatMap((row) => {
    const [table, n, shown] = countRow.parse(row);
    return n === 0 ? [] : [{ table, rows: n, keys: shownKeys.parse(JSON.parse(shown ?? "[]")) }];
  });
};
