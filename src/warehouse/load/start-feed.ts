// Starts the change feed with the rows that exist, as inserts: in a warehouse that is older than the feed, and after a
// replay whose changes are no longer those that the numbers were given to.
import { TABLE_NAMES } from "../../catalog/tables.ts";
import { quoted } from "../../core/text/sql-text.ts";
import { sqlText } from "../duckdb/sql-files.ts";
import type { Sql } from "../duckdb/statements.ts";
import { openChangeLog } from "./change-log.ts";
import { NOTHING_REDACTED, type RedactedChanges } from "./change-numbers.ts";
import { countRows } from "./walks.ts";

/** A feed that starts after the number `after`. */
export interface FeedStart {
  readonly after: number;
  /** ms since the epoch: time of the inserts. */
  readonly now: number;
}

/** Empties the feed and starts it with the present rows, table by table, in the order of their keys. */
export const startFeed = async (tx: Sql, { after, now }: FeedStart, past: RedactedChanges = NOTHING_REDACTED) => {
  await tx.run("DELETE FROM sync.changes; DELETE FROM sync.change_batches");
  await tx.run(sqlText("warehouse/change-feed-started.sql"), [after]);
  const log = openChangeLog(tx, past);
  for (const table of TABLE_NAMES) {
    await tx.run(`UPDATE history.${quoted(table)} SET change_n = NULL WHERE change_n IS NOT NULL`);
    const rows = await countRows(tx, table);
    if (rows > 0) await log.add({ table, change: "insert", runId: null, at: now }, rows, `main.${quoted(table)}`);
  }
  await log.end();
};
