// Snapshots of older versions of the program: what they lack has its default, and the file stays as it is.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { readAnySnapshot } from "../../../../src/warehouse/file/older-snapshot.ts";
import { warehousePaths } from "../../../../src/warehouse/file/working-file.ts";
import { aFolder } from "../../../support/cli.ts";
import { copyMigratedMirror } from "../../../support/migrated-mirror.ts";

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
