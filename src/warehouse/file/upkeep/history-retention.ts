// Retention: removes versions of history that are older than configured, and their changes from the feed.
import { z } from "zod";
import { TABLE_NAMES } from "../../../catalog/tables.ts";
import { quoted } from "../../../core/text/sql-text.ts";
import type { Database } from "../../duckdb/database.ts";
import { instant } from "../../duckdb/duck-values.ts";
import { sqlText } from "../../duckdb/sql-files.ts";
import type { Sql } from "../../duckdb/statements.ts";

// Retention of the ledger: removes old runs, requests, rejected records, differences and readings of usage
// (docs/decisions/ledger.md).

/**
 * Removes what is older than `days` before `now` (ms since the epoch) and no longer needed, in one transaction. Sums of it
 * stay in sync.removed_requests and sync.removed_runs. The journal does not record it: a replay brings the rows back, and
 * the next sync removes them again.
 */
export const pruneLedger = async (database: Database, days: number, now: number): Promise<void> => {
  const age = [instant(now), days];
  const [found] = await database.query(sqlText("retention/is-due.sql"), age, z.object({ due: z.boolean() }));
  if (found?.due !== true) return;
  await database.transaction(
    async (tx) => {
      await tx.run(sqlText("retention/cutoff.sql"), age);
      await tx.run(sqlText("retention/remove-ledger.sql"));
    },
    // Repeating it is harmless: what is gone is not added to the sums again.
    { isCommitted: async () => false },
  );
};

const DAY_MS = 86_400_000;

const numberRow = z.object({ n: z.number() });

/** Removes the changes up to a number, whose versions are gone, from the feed. */
const pruneFeed = async (tx: Sql, goneTo: number): Promise<void> => {
  await tx.run(sqlText("warehouse/change-feed-gone.sql"), [goneTo]);
  await tx.run("DELETE FROM sync.changes WHERE n <= ?", [goneTo]);
  await tx.run("DELETE FROM sync.change_batches WHERE last_n <= ?", [goneTo]);
};

/** Removes versions that were superseded or deleted more than `days` before `now`, and their changes from the feed. */
export const pruneHistory = (database: Database, days: number, now: number): Promise<number> =>
  database.transaction(
    async (tx) => {
      const before = [instant(now - days * DAY_MS)];
      let removed = 0;
      let goneTo = 0;
      for (const table of TABLE_NAMES) {
        const old = `FROM history.${quoted(table)} WHERE valid_to < ?`;
        const [last] = await tx.query(`SELECT coalesce(max(change_n), 0) AS n ${old}`, before, numberRow);
        goneTo = Math.max(goneTo, last?.n ?? 0);
        removed += await tx.run(`DELETE ${old}`, before);
      }
      if (goneTo > 0) await pruneFeed(tx, goneTo);
      return removed;
    },
    // Repeating it is harmless: it removes nothing more.
    { isCommitted: async () => false },
  );
