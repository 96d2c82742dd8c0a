// Lines of the audit trail in sync.audit: each once, and what cannot be read or removed is said there.
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { z } from "zod";
import { loadTrail } from "../../../../src/warehouse/audit/load-trail.ts";
import { openTrail } from "../../../../src/warehouse/audit/trail.ts";
import { type Database, openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../../src/warehouse/file/migrate.ts";
import { aFolder } from "../../../support/cli.ts";

const DAY_MS = 86_400_000;
const START = Date.UTC(2026, 10, 22, 12);

let database: Database;
let dataDir: string;
let now: number;
beforeAll(async () => {
  database = await openDatabase(":memory:", { threads: 1 });
  await migrate(database, 0);
});
beforeEach(async () => {
  dataDir = aFolder();
  now = START;
  for (const table of ["sync.audit", "sync.audit_files"]) await database.run(`DELETE FROM ${table}`);
});
afterAll(() => database.close());

const begin = (actor: string) =>
  openTrail({ dataDir, enabled: true, required: true, clock: { now: () => now }, warn: () => undefined }).begin({
    actor,
    way: "command",
    action: "sync",
  });
const load = (retentionDays: number | null = null) => loadTrail(database, dataDir, { retentionDays, now });
const texts = async (sql: string) =>
  (await database.query(sql, [], z.object({ text: z.string().nullable() }))).map(({ text }) => text);
const audit = () => texts("SELECT actor || ' ' || outcome AS text FROM sync.audit ORDER BY started_at, 1");
const problems = () => texts("SELECT file || ': ' || problem AS text FROM sync.audit_files WHERE problem IS NOT NULL");
const folder = () => join(dataDir, "state", "audit");

test("an action is one row, which shows its end once that is written", async () => {
  const end = begin("ann");
  await load();
  expect(await audit()).toEqual(["ann started"]);
  end({ outcome: "ok" });
  await load();
  expect(await audit()).toEqual(["ann ok"]);
});

test("loading again adds nothing, and later lines of the same file are added", async () => {
  begin("ann")({ outcome: "ok" });
  await load();
  await load();
  begin("bea")({ outcome: "QUOTA_SPENT" });
  await load();
  expect(await audit()).toEqual(["ann ok", "bea QUOTA_SPENT"]);
});

test("rows and files beyond the retention are removed, younger ones stay", async () => {
  begin("old")({ outcome: "ok" });
  now += 10 * DAY_MS;
  begin("new")({ outcome: "ok" });
  await load(5);
  expect(await audit()).toEqual(["new ok"]);
  expect(readdirSync(folder())).toEqual(["2026-12-02.jsonl"]);
  await load(null);
  expect(await audit()).toEqual(["new ok"]);
});

test("without a retention everything stays", async () => {
  begin("old")({ outcome: "ok" });
  now += 5_000 * DAY_MS;
  await load(null);
  expect(await audit()).toEqual(["old ok"]);
});

test("a folder that cannot be read stops nothing, is named, and is forgotten once it can", async () => {
  mkdirSync(join(dataDir, "state"));
  writeFileSync(folder(), "");
  await load();
  expect(await problems()).toHaveLength(1);
  rmSync(folder());
  begin("ann")({ outcome: "ok" });
  await load();
  expect([await problems(), await audit()]).toEqual([[], ["ann ok"]]);
});

test("a file that cannot be read is named, and the others are loaded", async () => {
  begin("ann")({ outcome: "ok" });
  mkdirSync(join(folder(), "2026-11-21.jsonl"));
  await load();
  expect(await audit()).toEqual(["ann ok"]);
  expect(await problems()).toEqual([expect.stringContaining("2026-11-21.jsonl")]);
});

test("a mirror without a trail has no rows, and none is created", async () => {
  await load(30);
  expect([await audit(), existsSync(folder())]).toEqual([[], false]);
});
