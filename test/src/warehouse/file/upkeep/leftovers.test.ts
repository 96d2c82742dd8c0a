// Files in state/ that nobody needs any more are removed, and no others.
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { removeOldCopies, removeOutdated } from "../../../../../src/warehouse/file/upkeep/history-retention.ts";
import { copyMigratedMirror } from "../../../../support/migrated-mirror.ts";
import { aWarehouse } from "../../builders.ts";
import { tempDir } from "../../temp-dir.ts";

const DAY_MS = 86_400_000;
const NEWEST = "working.duckdb.20260103T040506Z.old";
const OTHERS = ["working.duckdb", "writer.lock", "working.duckdb.old", "mine.20260101T000000Z.old", "keys.json"];

const aState = () => {
  const state = tempDir();
  const copies = ["working.duckdb.20251231T235959Z.old", "working.duckdb.20260102T000000Z.old.wal", NEWEST];
  for (const name of [...copies, `${NEWEST}.wal`, ...OTHERS]) writeFileSync(join(state, name), "x");
  return state;
};

test("of the working files that replays replaced, the newest stays with its WAL", async () => {
  const state = aState();
  await removeOldCopies(state, Date.UTC(2026, 0, 4));
  expect(readdirSync(state).sort()).toEqual([...OTHERS, NEWEST, `${NEWEST}.wal`].sort());
});

test("that one goes, too, after thirty days", async () => {
  const state = aState();
  const replaced = Date.UTC(2026, 0, 3, 4, 5, 6);
  await removeOldCopies(state, replaced + 30 * DAY_MS);
  expect(existsSync(join(state, NEWEST))).toBe(true);
  await removeOldCopies(state, replaced + 30 * DAY_MS + 1);
  expect(readdirSync(state).sort()).toEqual([...OTHERS].sort());
});

test("a file of calls that is still there after thirty days is removed; a younger one is not", async () => {
  const dataDir = tempDir();
  const calls = join(dataDir, "state", "calls");
  mkdirSync(calls, { recursive: true });
  for (const [name, days] of [
    ["old.jsonl", 31],
    ["young.jsonl", 29],
  ] as const) {
    writeFileSync(join(calls, name), "half a li");
    utimesSync(join(calls, name), 0, (Date.UTC(2026, 0, 1) - days * DAY_MS) / 1000);
  }
  await removeOutdated(dataDir, Date.UTC(2026, 0, 1));
  expect(readdirSync(calls)).toEqual(["young.jsonl"]);
});

test("what killed writers left is gone when the next one has the lock", async () => {
  const dataDir = tempDir();
  await copyMigratedMirror(dataDir);
  const state = join(dataDir, "state");
  for (const folder of ["tmp", "new-k1LLed"]) {
    mkdirSync(join(state, folder));
    writeFileSync(join(state, folder, "left"), "x".repeat(1000));
  }
  writeFileSync(join(dataDir, ".warehouse.duckdb.new"), "half a snapshot");
  await (await aWarehouse(dataDir)).close();
  expect(readdirSync(state).filter((name) => name === "tmp" || name.startsWith("new-"))).toEqual([]);
  expect(readdirSync(dataDir)).toEqual(["state"]);
});
