// Snapshots of older versions of the program: what they lack has its default, and the file stays as it is.
import { mkdirSync, readFileSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { createManualClock } from "../../../../bench/rates/manual-clock.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { readAnySnapshot, watchMirrors } from "../../../../src/warehouse/file/older-snapshot.ts";
import { warehousePaths } from "../../../../src/warehouse/file/working-file.ts";
import { aFolder } from "../../../support/cli.ts";
import { copyMigratedMirror } from "../../../support/migrated-mirror.ts";

// Mirrors that a worker has seen: one that another process made counts within a minute.

const DONE = { error: null };

test("a mirror that another process makes is seen within a minute, and missed when it is gone", async () => {
  const folder = aFolder();
  const clock = createManualClock();
  const stop = new AbortController();
  const mirrors = watchMirrors([folder], { clock, signal: stop.signal });
  mkdirSync(join(folder, "state", "archive"), { recursive: true });
  await clock.advance(60_000);
  rmSync(join(folder, "state"), { recursive: true });
  await expect(mirrors.guard(folder, async () => DONE)).rejects.toMatchObject({ code: "MIRROR_GONE", exitCode: 1 });
  mkdirSync(join(folder, "state", "archive"), { recursive: true });
  expect(await mirrors.guard(folder, async () => DONE)).toBe(DONE);
  stop.abort();
});

test("a directory in which no mirror was seen may get its first one", async () => {
  const stop = new AbortController();
  const mirrors = watchMirrors([], { clock: createManualClock(), signal: stop.signal });
  expect(await mirrors.guard(aFolder(), async () => DONE)).toBe(DONE);
  stop.abort();
});

test("a directory that the file system does not show keeps no other mirror from being watched, and is not gone", async () => {
  const [broken, whole] = [aFolder(), aFolder()];
  const clock = createManualClock();
  const stop = new AbortController();
  for (const folder of [broken, whole]) mkdirSync(join(folder, "state", "archive"), { recursive: true });
  const mirrors = watchMirrors([broken, whole], { clock, signal: stop.signal });
  rmSync(join(broken, "state"), { recursive: true });
  // As a volume that is away: it can be neither read nor called missing.
  symlinkSync(join(broken, "state"), join(broken, "state"));
  await clock.advance(60_000);
  expect(await mirrors.guard(broken, async () => DONE)).toBe(DONE);
  rmSync(join(whole, "state"), { recursive: true });
  await expect(mirrors.guard(whole, async () => DONE)).rejects.toMatchObject({ code: "MIRROR_GONE" });
  stop.abort();
});

const row = z.object({ text: z.string().nullable() });

/** A snapshot with one account, changed by these statements. */
const aSnapshot = async (...changes: readonly string[]): Promise<string> => {
  const dataDir = join(aFolder(), "data");
  await copyMigratedMirror(dataDir);
  const { working } = warehousePaths(dataDir);
  const database = await openDatabase(working, { threads: 1 });
  await database.run("INSERT INTO main.accounts (id, name) VALUES (1, 'Acme')");
  for (const sql of changes) await database.run(sql);
  await database.close();
  return working;
};
/** As an earlier version left it: without its last migration, and what that brought. */
const OLDER = "DELETE FROM sync.migrations WHERE number = (SELECT max(number) FROM sync.migrations)";
const read = (snapshot: string, sql: string) =>
  readAnySnapshot(snapshot, 0, async ({ database }) => (await database.query(sql, [], row)).map(({ text }) => text));

test("a snapshot of this version is read as it is", async () => {
  expect(await read(await aSnapshot(), "SELECT name AS text FROM main.accounts")).toEqual(["Acme"]);
});

test("of an older one, the rows are there, and a column that it lacks has its default", async () => {
  const snapshot = await aSnapshot(OLDER, "ALTER TABLE main.accounts DROP COLUMN country_code");
  expect(await read(snapshot, "SELECT concat_ws(' ', name, country_code) AS text FROM main.accounts")).toEqual([
    "Acme",
  ]);
});

test("a table that an older one lacks is empty", async () => {
  const snapshot = await aSnapshot(OLDER, "DROP TABLE sync.audit_files");
  expect(await read(snapshot, "SELECT file AS text FROM sync.audit_files")).toEqual([]);
});

test("the file of an older version is not changed by being read", async () => {
  const snapshot = await aSnapshot(OLDER);
  const before = readFileSync(snapshot);
  expect(await read(snapshot, "SELECT name AS text FROM main.accounts")).toEqual(["Acme"]);
  expect(readFileSync(snapshot).equals(before)).toBe(true);
});

test("a snapshot that is missing is an error, and so is one of which reading fails", async () => {
  await expect(read(join(aFolder(), "warehouse.duckdb"), "SELECT 1")).rejects.toMatchObject({
    code: "SNAPSHOT_MISSING",
  });
  await expect(read(await aSnapshot(OLDER), "SELECT nothing AS text FROM main.accounts")).rejects.toThrow(/nothing/);
});
