// Rows that Postgres cannot take under their own key: too long for an index, or with U+0000, whose replacement could be
// another row's key. They are left out, counted and named; every other row arrives.
import { z } from "zod";
import { quoted } from "../../../core/text/sql-text.ts";
import { runQuery } from "../../../warehouse/read/query.ts";
import type { DeliveredTable, LeftOut } from "../../destination.ts";

type Keyed = Pick<DeliveredTable, "name" | "key" | "columns">;

/** Bytes of a key's texts. An index entry of Postgres holds 2,704, with its header, lengths and other cells of the key. */
const LONGEST_KEY = 2_600;
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

/** True for a key that no index of Postgres takes. PURE. */
export const isLongSql = (table: Keyed, alias: string): string =>
  `${["0", ...textsOf(table, alias).map((text) => `strlen(${text})`)].join(" + ")} > ${LONGEST_KEY}`;

/** True for a row that is left out. PURE. */
export const isLeftOutSql = (table: Keyed, alias: string): string =>
  `(${hasNulSql(table, alias)} OR ${isLongSql(table, alias)})`;

const countSql = (table: Keyed): string => {
  const cells = table.key.map((name) => `CAST(t.${quoted(name)} AS VARCHAR)`).join(", ");
  return `SELECT '${table.name}' AS name, count(*) AS n, to_json(list(shown ORDER BY shown)[:${NAMED}])::VARCHAR AS shown FROM (
    SELECT left(replace(concat_ws('/', ${cells}), chr(0), chr(65533)), ${SHOWN}) AS shown
    FROM main.${quoted(table.name)} AS t WHERE ${isLeftOutSql(table, "t")})`;
};

const countRow = z.tuple([z.string(), z.coerce.number(), z.string().nullable()]);
const shownKeys = z.array(z.string());

/** The rows of these tables that are left out; only tables that have some. */
export const readLeftOut = async (
  snapshot: string,
  tables: readonly Keyed[],
  signal: AbortSignal,
): Promise<readonly LeftOut[]> => {
  const checked = tables.filter((table) => textsOf(table, "t").length > 0);
  if (checked.length === 0) return [];
  const { rows } = await runQuery({ snapshot, sql: checked.map(countSql).join(" UNION ALL "), signal });
  return rows.flatMap((row) => {
    const [table, n, shown] = countRow.parse(row);
    return n === 0 ? [] : [{ table, rows: n, keys: shownKeys.parse(JSON.parse(shown ?? "[]")) }];
  });
};
