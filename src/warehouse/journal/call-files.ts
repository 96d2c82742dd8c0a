// Call files: `state/calls/<run id>.jsonl`, one per command that sends requests without holding the warehouse. The next
// process that holds it books the calls (sync/recovery/take-calls.ts) and removes the file.
import { rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { appendOwn, listOwn, makeOwnFolder, readOwnText } from "../../core/files/own-files.ts";
import { type CallLine, lineText, type OutsideCalls, readCallLines } from "./call-lines.ts";

const SUFFIX = ".jsonl";

export const callsDir = (dataDir: string): string => join(dataDir, "state", "calls");

/** Appends a line and makes it durable. Throws the error of the file system. */
export const appendCallLine = (dataDir: string, runId: string, line: CallLine): void => {
  const dir = callsDir(dataDir);
  makeOwnFolder(dirname(dir));
  makeOwnFolder(dir);
  appendOwn(join(dir, `${runId}${SUFFIX}`), lineText(line), { flush: true });
};

/** Empty for a file that another process has removed, and for a link. */
const textOf = (path: string): Promise<string> => readOwnText(path).catch(() => "");

/** Calls in the files of a data directory, oldest command first. A file without a readable line is left out. */
export const readCallFiles = async (dataDir: string): Promise<readonly OutsideCalls[]> => {
  const dir = callsDir(dataDir);
  const names = (await listOwn(dir).catch(() => [])).filter((name) => name.endsWith(SUFFIX)).sort();
  const found: OutsideCalls[] = [];
  for (const name of names) {
    const calls = readCallLines(name.slice(0, -SUFFIX.length), await textOf(join(dir, name)));
    if (calls !== null) found.push(calls);
  }
  return found;
};

/** Removes the file of a command whose calls are booked, if it can. */
export const removeCallFile = (dataDir: string, runId: string): void => {
  try {
    rmSync(join(callsDir(dataDir), `${runId}${SUFFIX}`), { force: true });
  } catch {
    // Its calls are booked again, which changes nothing.
  }
};
