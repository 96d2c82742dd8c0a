// Retention of the ledger: removes old runs, requests, rejected records, differences and readings of usage
// (docs/decisions/ledger.md).
import { z } from "zod";
import type { Database } from "../../duckdb/database.ts";
import { instant } from "../../duckdb/duck-values.ts";
import { sqlText } from "../../duckdb/sql-files.ts";

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
