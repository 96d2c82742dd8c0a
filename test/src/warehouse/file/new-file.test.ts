import { existsSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { z } from "zod";
import { openDatabase } from "../../../../src/warehouse/duckdb/database.ts";
import { migrate } from "../../../../src/warehouse/file/migrate.ts";
import { applyViews } from "../../../../src/warehouse/file/views.ts";
import { copyEmptyMirror, dateCopiedMirror } from "../../../../src/warehouse/file/working-file.ts";
import { tempDir } from "../temp-dir.ts";

/** Paths of a working file and of the build's empty mirror, in a new folder. */
const paths = () => {
  const dir = tempDir();
  const empty = join(dir, "empty.duckdb");
  writeFileSync(empty, "an empty mirror");
  return { dir, file: join(dir, "working.duckdb"), empty };
};

test("a new file is a copy of the empty mirror", async () => {
  const { file, empty } = paths();
  expect(await copyEmptyMirror(file, empty)).toBe(true);
  expect(readFileSync(file, "utf8")).toBe("an empty mirror");
  expect(existsSync(`${file}.empty`)).toBe(false);
});

test.each(["working.duckdb", "working.duckdb.wal"])("a mirror whose %s is there is left as it is", async (name) => {
  const { dir, file, empty } = paths();
  writeFileSync(join(dir, name), "a mirror");
  expect(await copyEmptyMirror(file, empty)).toBe(false);
  expect(readFileSync(join(dir, name), "utf8")).toBe("a mirror");
  expect(existsSync(file)).toBe(name === "working.duckdb");
});

test("without an empty mirror nothing is copied, so that the file is created", async () => {
  const { dir, file } = paths();
  expect(await copyEmptyMirror(file, join(dir, "missing"))).toBe(false);
  expect(existsSync(file)).toBe(false);
});

test("a copy that fails leaves nothing behind", async () => {
  const { dir, empty } = paths();
  const file = join(dir, "no-such-folder", "working.duckdb");
  expect(await copyEmptyMirror(file, empty)).toBe(false);
});

test("a half copy of a killed process is replaced, and a link in its place is not followed", async () => {
  const { dir, file, empty } = paths();
  const precious = join(dir, "precious");
  writeFileSync(precious, "precious");
  symlinkSync(precious, `${file}.empty`);
  expect(await copyEmptyMirror(file, empty)).toBe(true);
  expect(readFileSync(precious, "utf8")).toBe("precious");
});

test("migrations and views of a copy are dated when the mirror is created", async () => {
  const database = await openDatabase(":memory:", { threads: 1 });
  try {
    await migrate(database, 0);
    await applyViews(database, 0);
    const now = Date.parse("2026-11-25T21:00:00Z");
    await dateCopiedMirror(database, now);
    const dates =
      "SELECT DISTINCT applied_at FROM (FROM sync.migrations SELECT applied_at UNION ALL FROM sync.views SELECT applied_at)";
    expect(await database.query(dates, [], z.object({ applied_at: z.number() }))).toEqual([{ applied_at: now }]);
  } finally {
    await database.close();
  }
});
