// Streams rows of the snapshot to Postgres as COPY text, which DuckDB writes; a few thousand rows are in memory at a time.
import { quoted } from "../../../core/text/sql-text.ts";
import { streamQuery } from "../../../warehouse/read/query.ts";
import { changedKeysSql } from "../../changed-keys.ts";
import type { DeliveredTable, Position } from "../../destination.ts";
import { lineSql, rowLineSql } from "./cells.ts";
import { hasNulSql, isLeftOutSql, isLongSql } from "./left-out.ts";
import type { Session } from "./session.ts";

/** Name of the snapshot's database when it is opened by its path. */
const SNAPSHOT = "warehouse";
const MEMORY_LIMIT = "1GB";

/** Lines of every row that is not left out. */
export const wholeLinesSql = (table: DeliveredTable): string =>
  `SELECT ${rowLineSql(table.columns)} FROM main.${quoted(table.name)} AS t WHERE NOT ${isLeftOutSql(table, "t")}`;

/** Lines of every row for a staging table. */
export const stagedLinesSql = (table: DeliveredTable): string =>
  `SELECT ${rowLineSql(table.columns)} || chr(9) || 'f' FROM main.${quoted(table.name)} AS t
   WHERE NOT ${isLeftOutSql(table, "t")}`;

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
  const isGone = `CASE WHEN t.${quoted(key[0] ?? "")} IS NULL OR ${isLongSql(table, "k")} THEN 't' ELSE 'f' END`;
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
