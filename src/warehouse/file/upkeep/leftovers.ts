// Files in state/ that nobody needs any more: old working files that replays kept, and files of calls that nobody can
// read.
import { lstat, rm } from "node:fs/promises";
import { join } from "node:path";
import { listOwn, listOwnIfThere } from "../../../core/files/own-files.ts";
import { timeMs } from "../../../core/time.ts";
import { callsDir } from "../../journal/journal.ts";

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
