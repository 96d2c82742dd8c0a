// Call files: `state/calls/<run id>.jsonl`, one per command that sends requests without holding the warehouse. The next
// process that holds it books the calls (sync/recovery/take-calls.ts) and removes the file.
import { closeSync, fdatasyncSync, openSync, rmSync, writeSync } from "node:fs";
import { open, readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { APPENDING, makeOwnFolder, READING_OWN } from "../../core/own-files.ts";
import { type CallLine, lineText, type OutsideCalls, readCallLines } from "./call-lines.ts";

const SUFFIX = ".jsonl";

export const callsDir = (dataDir: string): string => join(dataDir, "state", "calls");

/** Appends a line and makes it durable. Throws the error of the file system. */
export const appendCallLine = (dataDir: string, runId: string, line: CallLine): void => {
  const dir = callsDir(dataDir);
  makeOwnFolder(dirname(dir));
  makeOwnFolder(dir);
  const bytes = Buffer.from(lineText(line));
  const file = openSync(join(dir, `${runId}${SUFFIX}`), APPENDING, 0o600);
  try {
    const written = writeSync(file, bytes);
    if (written < bytes.length) throw new Error(`only ${written} of ${bytes.length} bytes were written`);
    fdatasyncSync(file);
  } finally {
    closeSync(file);
  }
};

/** Empty for a file that another process has removed, and for a link. */
const textOf = async (path: string): Promise<string> => {
  const file = await open(path, READING_OWN).catch(() => null);
  if (file === null) return "";
  return file.readFile("utf8").finally(() => file.close());
};

/** Calls in the files of a data directory, oldest command first. A file without a readable line is left out. */
export const readCallFiles = async (dataDir: string): Promise<readonly OutsideCalls[]> => {
  const dir = callsDir(dataDir);
  const names = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith(SUFFIX)).sort();
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
