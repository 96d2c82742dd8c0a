// Call files: one per command, appended to line by line, read by the next process that holds the warehouse.
import { mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import {
  appendCallLine,
  callsDir,
  readCallFiles,
  removeCallFile,
} from "../../../../src/warehouse/journal/call-files.ts";
import type { CallLine } from "../../../../src/warehouse/journal/call-lines.ts";
import { tempDir } from "../temp-dir.ts";

const begin = (runId: string): CallLine => ({ line: "begin", runId, mode: "check", at: 1, until: 2 });
const runs = async (dataDir: string) => (await readCallFiles(dataDir)).map(({ runId }) => runId);

test("the oldest command comes first; files of others, and those without a readable line, are left out", async () => {
  const dataDir = tempDir();
  expect(await runs(dataDir)).toEqual([]);
  for (const runId of ["20260102T000000Z-b", "20260101T000000Z-a"]) appendCallLine(dataDir, runId, begin(runId));
  writeFileSync(join(callsDir(dataDir), "20260103T000000Z-c.jsonl"), "{");
  writeFileSync(join(callsDir(dataDir), "note.txt"), "x");
  expect(await runs(dataDir)).toEqual(["20260101T000000Z-a", "20260102T000000Z-b"]);
});

test("every line goes behind the earlier ones, for its owner alone", async () => {
  const dataDir = tempDir();
  appendCallLine(dataDir, "r", begin("r"));
  appendCallLine(dataDir, "r", { line: "end", at: 7, error: null, quota: null });
  expect(await readCallFiles(dataDir)).toMatchObject([{ startedAt: 1, finishedAt: 7 }]);
  expect(statSync(join(callsDir(dataDir), "r.jsonl")).mode & 0o777).toBe(0o600);
});

test("a link is neither written to nor read", async () => {
  const dataDir = tempDir();
  mkdirSync(callsDir(dataDir), { recursive: true });
  const theirs = join(dataDir, "theirs");
  writeFileSync(theirs, `${JSON.stringify(begin("r"))}\n`);
  symlinkSync(theirs, join(callsDir(dataDir), "r.jsonl"));
  expect(() => appendCallLine(dataDir, "r", begin("r"))).toThrow();
  expect(await runs(dataDir)).toEqual([]);
});

test("a booked file is removed; one that another process removed before is no fault", async () => {
  const dataDir = tempDir();
  appendCallLine(dataDir, "r", begin("r"));
  removeCallFile(dataDir, "r");
  removeCallFile(dataDir, "r");
  expect(await runs(dataDir)).toEqual([]);
});
