// A working file that this machine did not close is inspected in the fenced process before it is opened; its own is not.
import { appendFileSync, copyFileSync, existsSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, expect, test } from "vitest";
import { systemClock } from "../../../../src/core/clock.ts";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { openWarehouse } from "../../../../src/warehouse/file/warehouse.ts";
import { change } from "../../../support/change-mirror.ts";
import { tempDir } from "../temp-dir.ts";

const PLANTED = "CREATE VIEW main.planted AS SELECT 1";

let dir: string;
let working: string;
const open = () => openWarehouse({ dataDir: dir, clock: systemClock });
beforeEach(async () => {
  dir = tempDir();
  working = join(dir, "state", "working.duckdb");
  await change(dir, async () => undefined);
});

const plantIn = async (file: string, keepsWal = false): Promise<void> => {
  const database = await openDatabase(file);
  await database.run(PLANTED);
  await database.close({ keepsWal });
};

test("a file that was closed here is known by its note", async () => {
  expect(readFileSync(join(dir, "state", "closed"), "utf8")).toMatch(/^\d+ \d+ \d+ \d+\n$/);
  await (await open()).close();
});

test("without a note, and with one that fits no longer, the file is read and passes", async () => {
  for (const note of [null, "1 2 3 4\n"]) {
    const copy = `${working}.copy`;
    copyFileSync(working, copy);
    renameSync(copy, working);
    rmSync(join(dir, "state", "closed"));
    if (note !== null) writeFileSync(join(dir, "state", "closed"), note);
    await (await open()).close();
  }
});

test.each([
  ["changed in place", async () => plantIn(working)],
  [
    "another one in its place",
    async () => {
      copyFileSync(working, `${working}.theirs`);
      await plantIn(`${working}.theirs`);
      renameSync(`${working}.theirs`, working);
    },
  ],
  ["its WAL brings the view", async () => plantIn(working, true)],
])("a planted catalog is refused by its name: %s", async (_, plant) => {
  await plant();
  const refused = { code: "CATALOG_REFUSED", message: expect.stringContaining("view main.planted") };
  await expect(open()).rejects.toMatchObject(refused);
  await expect(open()).rejects.toMatchObject(refused);
});

test("a note that came along with a file does not vouch for it", async () => {
  const other = tempDir();
  const warehouse = await openWarehouse({ dataDir: other, clock: systemClock });
  await warehouse.close();
  const theirs = join(other, "state", "working.duckdb");
  await plantIn(theirs);
  copyFileSync(theirs, working);
  copyFileSync(join(other, "state", "closed"), join(dir, "state", "closed"));
  await expect(open()).rejects.toMatchObject({ code: "CATALOG_REFUSED" });
});

test("a WAL without its file brings nothing", async () => {
  await plantIn(working, true);
  expect(existsSync(`${working}.wal`)).toBe(true);
  rmSync(working);
  const warehouse = await open();
  await warehouse.close();
  const database = await openDatabase(working);
  expect(await database.cells("SELECT view_name FROM duckdb_views() WHERE view_name = 'planted'", [])).toEqual([]);
  await database.close();
});

test("a damaged file is a damaged file, as before", async () => {
  writeFileSync(working, "nothing");
  await expect(open()).rejects.toMatchObject({ code: "WAREHOUSE_CORRUPT" });
  appendFileSync(working, "x".repeat(20_000));
  await expect(open()).rejects.toMatchObject({ code: "WAREHOUSE_CORRUPT" });
});
