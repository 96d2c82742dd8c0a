// Files of the audit trail: `state/audit/2026-11-22.jsonl`, one per day (UTC), which every process appends to.
import { dirname, join } from "node:path";
import { appendOwn, listOwnIfThere, makeOwnFolder } from "../../core/files/own-files.ts";
import { timeMs } from "../../core/time.ts";

export const trailDir = (dataDir: string): string => join(dataDir, "state", "audit");

const SUFFIX = ".jsonl";
const DAY_FILE = /^(\d{4}-\d{2}-\d{2})\.jsonl$/;

/** Start of a file's day, ms since the epoch; null: it is no file of the trail. */
export const dayOf = (name: string): number | null => {
  const day = DAY_FILE.exec(name)?.[1];
  return day === undefined ? null : timeMs(`${day}T00:00:00Z`);
};

/** Names of the trail's files, oldest first; none if there is no folder. Throws other errors of the file system. */
export const trailFiles = async (dir: string): Promise<readonly string[]> => {
  const names = await listOwnIfThere(dir);
  return names.filter((name) => dayOf(name) !== null).sort();
};

/**
 * Appends the text of one line in one write, so that lines of two processes do not mix. The file is opened for each
 * line, because an open file may have been removed. Throws the error of the file system.
 */
export const appendLine = (dir: string, at: number, line: string): void => {
  makeOwnFolder(dirname(dir));
  makeOwnFolder(dir);
  appendOwn(join(dir, `${new Date(at).toISOString().slice(0, 10)}${SUFFIX}`), line);
};
