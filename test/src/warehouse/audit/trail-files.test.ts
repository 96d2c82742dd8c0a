// Files of the audit trail: one per day, appended to by every process.
import { mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { appendLine, dayOf, trailDir, trailFiles } from "../../../../src/warehouse/audit/trail.ts";
import { tempDir } from "../temp-dir.ts";

test.each([
  ["2026-11-22.jsonl", Date.UTC(2026, 10, 22)],
  ["2026-11-22.jsonl.gz", null],
  ["key", null],
])("%s begins a day, or is no file of the trail", (name, day) => {
  expect(dayOf(name)).toBe(day);
});

test("a line goes into the file of its day in UTC, for its owner alone", async () => {
  const dir = trailDir(tempDir());
  expect(await trailFiles(dir)).toEqual([]);
  appendLine(dir, Date.UTC(2026, 10, 22, 23, 59), "a\n");
  appendLine(dir, Date.UTC(2026, 10, 23), "b\n");
  appendLine(dir, Date.UTC(2026, 10, 23), "c\n");
  writeFileSync(join(dir, "key"), "");
  expect(await trailFiles(dir)).toEqual(["2026-11-22.jsonl", "2026-11-23.jsonl"]);
  const file = join(dir, "2026-11-23.jsonl");
  expect(readFileSync(file, "utf8")).toBe("b\nc\n");
  expect([statSync(file).mode & 0o777, statSync(dir).mode & 0o777]).toEqual([0o600, 0o700]);
});

test("a link planted in place of a day's file is not followed", () => {
  const dataDir = tempDir();
  const dir = trailDir(dataDir);
  mkdirSync(dir, { recursive: true });
  const theirs = join(dataDir, "theirs");
  writeFileSync(theirs, "");
  symlinkSync(theirs, join(dir, "2026-11-22.jsonl"));
  expect(() => appendLine(dir, Date.UTC(2026, 10, 22), "a\n")).toThrow();
  expect(readFileSync(theirs, "utf8")).toBe("");
});
