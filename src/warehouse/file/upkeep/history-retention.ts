// Removes what is older than the configured retention: versions of history and their changes in the feed, ledger rows, and old files in
// state/.

import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { TABLE_NAMES } from "../../../catalog/tables.ts";
import { listOwn, listOwnIfThere } from "../../../core/files/own-files.ts";
import { quoted } from "../../../core/text/sql-text.ts";
import { timeMs } from "../../../core/time.ts";
import type { Database } from "../../duckdb/database.ts";
import { numberOf, sqlText } from "../../duckdb/sql-files.ts";
import { instant, type Sql } from "../../duckdb/statements.ts";
import { callsDir } from "../../journal/journal.ts";

// Files in state/ that nobody needs any more: old working files that replays kept, and files of calls that nobody can
// read.

const DAY_MS = 86_400_000;
/** Days that the old working file stays after a replay, and a file of calls without a readable line. */
const KEPT_DAYS = 30;

/** A working file that a replay replaced, or its WAL: `working.duckdb.20261123T004334Z.old`. */
const OLD_COPY = /^working\.duckdb\.(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z\.old(\.wal)?$/;

/** When the copy was replaced, ms since the epoch; null: the name is not one of a copy. */
const replacedAt = (name: string): number | null => {
  const [, year, month, day, hour, minute, second] = OLD_COPY.exec(name) ?? [];
  return year === undefined ? null : timeMs(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
};

/** Removes all old working files but the newest, and that one after 30 days. `now`: ms since the epoch. */
export const removeOldCopies = async (state: string, now: number): Promise<void> => {
  const copies = (await listOwn(state)).flatMap((name) => {
    const at = replacedAt(name);
    return at === null ? [] : [{ name, at }];
  });
  const newest = Math.max(...copies.map(({ at }) => at));
  for (const { name, at } of copies) {
    if (at < newest || at < now - KEPT_DAYS * DAY_MS) await rm(join(state, name), { force: true });
  }
};

/** A file of calls that is still there after the calls were booked has no readable line. */
const removeUnreadableCalls = async (dataDir: string, now: number): Promise<void> => {
  const dir = callsDir(dataDir);
  for (const name of await listOwnIfThere(dir)) {
    const file = await lstat(join(dir, name)).catch(() => null);
    if (file?.isFile() && file.mtimeMs < now - KEPT_DAYS * DAY_MS) await rm(join(dir, name), { force: true });
  }
};

/** Removes old files of a data directory whose calls are booked. `now`: ms since the epoch. */
export const removeOutdated = async (dataDir: string, now: number): Promise<void> => {
  await removeOldCopies(join(dataDir, "state"), now);
  await removeUnreadableCalls(dataDir, now);
};

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
        goneTo = Math.max(goneTo, (await numberOf(tx, `SELECT max(change_n) ${old}`, before)) ?? 0);
        removed += await tx.run(`DELETE ${old}`, before);
      }
      if (goneTo > 0) await pruneFeed(tx, goneTo);
      return removed;
    },
    // Repeating it is harmless: it removes nothing more.
    { isCommitted: async () => false },
  );
